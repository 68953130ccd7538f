#include "dataplane/load/make_workers.h"

#include <algorithm>

#include "dataplane/load/frame_source.h"
#include "dataplane/load/plan_check.h"

namespace pathproof::load {
namespace {

LoadWorker& worker_of(unsigned number, const LoadPlan& plan, const traffic::RunClock& clock,
                      TrialBoard& board, LoadWorker::List& workers) {
    const auto there = std::ranges::find_if(
        workers, [number](const auto& one) { return one->number() == number; });
    if (there != workers.end()) {
        return **there;
    }
    workers.push_back(std::make_unique<LoadWorker>(number, plan, clock, board, workers));
    return *workers.back();
}

Meeting meeting_of(const LoadPlan& plan, unsigned number, TrialBoard& board) {
    if (!plan.together) {
        return {};
    }
    const auto& warm_up = plan.together->warm_up[number];
    return {.with = &board.rendezvous(),
            .leads = number == 0,
            .skew = plan.together->skew,
            .warm_up = warm_up ? &*warm_up : nullptr};
}

Result<Sender> make_sender(const Roles& roles, unsigned number, const LoadPlan& plan,
                           const traffic::RunClock& clock, TrialBoard& board) {
    const Roles::Queue& role = roles.senders[number];
    const auto senders = static_cast<unsigned>(roles.senders.size());
    auto source = TRY(make_source(plan, number, senders));
    TRY(check_frames(*source, plan.source.spec, *role.port));
    return Sender({.port = role.port,
                   .queue = role.queue,
                   .number = number,
                   .senders = senders,
                   .burst = plan.burst,
                   .frames_in_unit = plan.together ? 1 : plan.frames_in_unit(),
                   .pair_skew = plan.pair_skew,
                   .punctual = plan.punctual,
                   .meeting = meeting_of(plan, number, board),
                   .timeout = plan.intake.late_after},
                  std::move(source), clock);
}

// Finds the way by which a worker that receives at a port sends there, too.
Result<neighbour::Outlet> outlet_of(const Roles::Queue& role, const Roles& roles,
                                    const LoadWorker::List& workers) {
    const Roles::Queue* sender = nullptr;
    for (const Roles::Queue& one : roles.senders) {
        if (one.port == role.port && one.worker == role.worker) {
            return neighbour::Outlet(one.queue);
        }
        sender = sender == nullptr && one.port == role.port ? &one : sender;
    }
    if (sender == nullptr && role.queue < role.port->config().tx_queues) {
        return neighbour::Outlet(role.queue);
    }
    if (sender == nullptr) {
        return fail(ErrorCode::kBadInput,
                    "port {} has {} transmit queues, too few to answer ARP from receive queue {}",
                    role.port->info().name, role.port->config().tx_queues, role.queue);
    }
    const auto owner = std::ranges::find_if(
        workers, [&](const auto& worker) { return worker->number() == sender->worker; });
    neighbour::Relay* relay = (*owner)->relay_to(*role.port);
    if (relay == nullptr) {
        auto made = TRY(neighbour::Relay::make(*role.port, sender->queue));
        relay = &(*owner)->add(std::move(made));
    }
    return neighbour::Outlet(relay);
}

// Null: the plan has no station at that port.
Result<neighbour::Desk*> desk_of(const Roles::Queue& role, const Roles& roles, const LoadPlan& plan,
                                 const LoadWorker::List& workers, LoadWorker& worker) {
    const auto place = std::ranges::find(plan.stations, role.port, &neighbour::Place::port);
    if (place == plan.stations.end()) {
        return static_cast<neighbour::Desk*>(nullptr);
    }
    const auto outlet = TRY(outlet_of(role, roles, workers));
    return &worker.add(neighbour::Desk(*role.port, place->station, outlet));
}

Status add_receiver(const Roles::Queue& role, const Roles& roles, const LoadPlan& plan,
                    const RunPorts& ports, const LoadWorker::List& workers, LoadWorker& worker) {
    auto* const desk = TRY(desk_of(role, roles, plan, workers, worker));
    worker.add({.queue = role, .port_number = ports.number(*role.port), .desk = desk});
    if (plan.intake_instead != nullptr) {
        worker.set_intake(*plan.intake_instead);
    }
    if (worker.intake() != nullptr) {
        return {};
    }
    IntakePlan intake = plan.intake;
    intake.streams = static_cast<unsigned>(roles.senders.size());
    if (!plan.make_source) {
        intake.sent = plan.source;
    }
    auto made = TRY(TrackedIntake::make(intake));
    worker.set_intake(std::move(made), Returns(intake.streams, intake.late_after));
    return {};
}

}  // namespace

std::set<unsigned> workers_of(const std::vector<Roles::Queue>& queues) {
    std::set<unsigned> workers;
    for (const Roles::Queue& queue : queues) {
        workers.insert(queue.worker);
    }
    return workers;
}

std::set<unsigned> workers_of(const Roles& roles) {
    std::set<unsigned> workers = workers_of(roles.senders);
    workers.merge(workers_of(roles.receivers));
    for (const Roles::Responder& role : roles.responders) {
        workers.insert(role.worker);
    }
    return workers;
}

Result<std::unique_ptr<Source>> make_source(const LoadPlan& plan, unsigned sender,
                                            unsigned senders) {
    SourcePlan part = plan.source;
    part.stream = static_cast<std::uint8_t>(sender);
    part.first_flow = sender;
    part.flow_step = senders;
    if (plan.make_source) {
        return plan.make_source(part);
    }
    auto made = TRY(FrameSource::make(part));
    return std::unique_ptr<Source>(std::make_unique<FrameSource>(std::move(made)));
}

Status make_workers(const Roles& roles, const LoadPlan& plan, const RunPorts& ports,
                    const traffic::RunClock& clock, TrialBoard& board, LoadWorker::List& workers) {
    for (unsigned number = 0; number < roles.senders.size(); ++number) {
        auto sender = TRY(make_sender(roles, number, plan, clock, board));
        worker_of(roles.senders[number].worker, plan, clock, board, workers).add(std::move(sender));
    }
    for (const Roles::Queue& role : roles.receivers) {
        LoadWorker& worker = worker_of(role.worker, plan, clock, board, workers);
        TRY(add_receiver(role, roles, plan, ports, workers, worker));
    }
    for (const Roles::Queue& role : roles.listeners) {
        LoadWorker& worker = worker_of(role.worker, plan, clock, board, workers);
        if (worker.tracked() != nullptr) {
            auto* const desk = TRY(desk_of(role, roles, plan, workers, worker));
            worker.add({.queue = role,
                        .port_number = ports.number(*role.port),
                        .only_errors = true,
                        .desk = desk});
        }
    }
    for (const Roles::Responder& role : roles.responders) {
        worker_of(role.worker, plan, clock, board, workers).set_responder(*role.responder);
    }
    for (const auto& worker : workers) {
        worker->watch_returns();
    }
    return {};
}

}  // namespace pathproof::load
