// Parts of a guest: its archive, modules, kernel and NICs, and the messages of QEMU.
#define BOOST_TEST_MODULE guest
#include <sys/stat.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "harness/guest/cpio.h"
#include "harness/guest/image.h"
#include "harness/guest/kernel.h"
#include "harness/guest/modules.h"
#include "harness/guest/nics.h"
#include "harness/guest/program_init.h"
#include "harness/guest/qmp.h"
#include "harness/guest/relay.h"
#include "harness/process/program.h"
#include "tests/contains.h"

using namespace pathproof;
using namespace pathproof::guest;
using Files = std::vector<std::string>;

namespace {

class Folder {
  public:
    Folder() { BOOST_REQUIRE(mkdtemp(path_) != nullptr); }
    ~Folder() { static_cast<void>(process::run_program({"rm", "-rf", path_})); }
    std::string path() const { return path_; }
    std::string write(const std::string& name, const std::string& content) const {
        const std::string file = path() + "/" + name;
        static_cast<void>(process::run_program({"mkdir", "-p", file.substr(0, file.rfind('/'))}));
        std::ofstream(file, std::ios::binary) << content;
        return file;
    }

  private:
    char path_[32] = "/tmp/pathproof-guest-XXXXXX";
};

constexpr const char* kDep =
    "kernel/drivers/net/ethernet/realtek/8139cp.ko: kernel/drivers/net/mii.ko\n"
    "kernel/drivers/net/mii.ko:\n"
    "kernel/drivers/virtio/virtio_pci.ko.xz: kernel/drivers/virtio/virtio_pci_legacy_dev.ko.xz "
    "kernel/drivers/virtio/virtio.ko.xz kernel/drivers/virtio/virtio_ring.ko.xz\n";

// A bzImage that says this of itself.
std::string image_of(const std::string& version) {
    std::string image(0x400, '\0');
    image.replace(0x202, 4, "HdrS");
    image[0x20e] = 0x10;
    image[0x20f] = 0x01;
    image.replace(0x310, version.size(), version);
    return image;
}

template <typename Value>
std::string why(const Result<Value>& result) {
    return result ? "" : result.error().message;
}

using pathproof::test::contains;

}  // namespace

BOOST_AUTO_TEST_CASE(an_archive_is_what_cpio_unpacks) {
    CpioWriter writer;
    const std::string odd(4099, 'x');
    writer.file("/lib/modules/odd.ko", odd);
    writer.file("/init", "#!", 0755);
    writer.file("/init", "another");  // the first one stays
    writer.link("/bin", "usr/bin");
    writer.character_device("/dev/console", 5, 1);
    const std::string archive = writer.finish();
    BOOST_TEST(archive.size() % 4 == 0u);
    const Folder folder;
    const std::string file = folder.write("archive", archive);
    const auto listed = process::run_program({"busybox", "cpio", "-tv"}, {.input = archive});
    BOOST_REQUIRE_MESSAGE(listed, why(listed));
    BOOST_TEST(listed->exit_status == 0, listed->err);
    for (const char* line : {"drwxr-xr-x", "crw-------", "lib/modules/odd.ko", "4099", "-rwxr-xr-x",
                             "bin -> usr/bin"}) {
        BOOST_TEST(contains(listed->out, line), line << " in\n" << listed->out);
    }
    const auto unpacked = process::run_checked(
        {"sh", "-c",
         "cd \"$0\" && busybox cpio -id <archive 2>/dev/null; cat lib/modules/odd.ko; "
         "cat init",
         folder.path()});
    BOOST_REQUIRE_MESSAGE(unpacked, why(unpacked));
    BOOST_TEST((*unpacked == odd + "#!"));
}

BOOST_AUTO_TEST_CASE(a_module_comes_behind_all_that_it_needs) {
    const auto index = ModuleIndex::parse(kDep, "kernel/net/ipv6/ipv6.ko\nkernel/lib/crc-t10.ko\n");
    BOOST_TEST(
        (*index.files_of("8139cp") ==
         Files{"kernel/drivers/net/mii.ko", "kernel/drivers/net/ethernet/realtek/8139cp.ko"}));
    BOOST_TEST(
        (*index.files_of("virtio-pci") == Files{"kernel/drivers/virtio/virtio_ring.ko.xz",
                                                "kernel/drivers/virtio/virtio.ko.xz",
                                                "kernel/drivers/virtio/virtio_pci_legacy_dev.ko.xz",
                                                "kernel/drivers/virtio/virtio_pci.ko.xz"}));
    // A module that is built into the kernel is not missing.
    BOOST_TEST(index.files_of("ipv6")->empty());
    BOOST_TEST(index.is_built_in("crc_t10"));
    const auto none = index.files_of("e1000e");
    BOOST_REQUIRE(!none);
    BOOST_TEST((none.error().code == ErrorCode::kNotFound));
    BOOST_TEST(contains(none.error().message, "no module e1000e"));
}

BOOST_AUTO_TEST_CASE(a_compressed_module_is_read_as_the_kernel_takes_it) {
    const Folder folder;
    const std::string elf("\177ELF and more");
    const std::string plain = folder.write("a.ko", elf);
    BOOST_TEST(*read_module(plain) == elf);
    for (const std::string how : {"xz", "gzip"}) {
        BOOST_REQUIRE(process::run_checked({how, "-k", plain}));
    }
    BOOST_TEST(*read_module(plain + ".xz") == elf);
    BOOST_TEST(*read_module(plain + ".gz") == elf);
    BOOST_TEST(
        contains(why(read_module(folder.write("b.ko", "text"))), "b.ko is no kernel module"));
    BOOST_TEST(!read_module(folder.path() + "/c.ko"));
    BOOST_TEST(!read_module(folder.write("d.ko.xz", elf)));
}

BOOST_AUTO_TEST_CASE(an_image_says_which_kernel_it_is) {
    BOOST_TEST(*release_of_image(image_of("6.1.0-56-amd64 (x) #1"), "image") == "6.1.0-56-amd64");
    for (const std::string& wrong : {std::string(), std::string("text"), std::string(0x400, '\0'),
                                     image_of(""), image_of("6.1").substr(0, 0x312)}) {
        const auto refused = release_of_image(wrong, "image");
        BOOST_REQUIRE(!refused);
        BOOST_TEST((refused.error().code == ErrorCode::kBadInput));
        BOOST_TEST(contains(refused.error().message, "image"));
    }
}

BOOST_AUTO_TEST_CASE(a_kernel_is_taken_with_its_own_modules_only) {
    const Folder folder;
    const std::string image = folder.write("bzImage", image_of("6.1.0-x #1"));
    folder.write("root/lib/modules/6.1.0-x/modules.dep", kDep);
    folder.write("other/lib/modules/6.2.0/modules.dep", kDep);
    const auto found = find_kernel(image, folder.path() + "/root");
    BOOST_REQUIRE_MESSAGE(found, why(found));
    BOOST_TEST(found->modules == folder.path() + "/root/lib/modules/6.1.0-x");
    BOOST_TEST(found->release == "6.1.0-x");
    BOOST_TEST(found->origin == "as given");
    BOOST_TEST(
        contains(why(find_kernel(image, folder.path() + "/other")), "no modules of 6.1.0-x"));
    BOOST_TEST(contains(why(find_kernel(image, "")), "--kernel and --modules belong together"));
    BOOST_TEST(contains(why(find_kernel(folder.write("text", "text"), folder.path() + "/root")),
                        "text is no Linux kernel image"));
    BOOST_TEST(!find_kernel(folder.path() + "/none", folder.path() + "/root"));
    // Without the driver, and with a wrong file in its place.
    const auto driver = make_image(*found, {.module = "vmxnet3", .replacement = ""});
    BOOST_REQUIRE(!driver);
    BOOST_TEST((driver.error().code == ErrorCode::kNotSupported));
    BOOST_TEST(contains(driver.error().message, "6.1.0-x (as given) has no driver vmxnet3"));
    BOOST_TEST(contains(why(make_image(*found, {.module = "8139cp", .replacement = "/e1000.ko"})),
                        "/e1000.ko is not the driver of this NIC, 8139cp.ko"));
    const auto missing = make_image(*found, {.module = "8139cp", .replacement = ""});
    BOOST_TEST(!missing);
    // Nor is it a NAT box: without conntrack, and without tables of either kind.
    const auto lacking = lacking_for_nat(*found);
    BOOST_REQUIRE_MESSAGE(lacking, why(lacking));
    for (const char* name : {"nf_conntrack", "xt_MASQUERADE", "nft_chain_nat"}) {
        BOOST_TEST((std::ranges::find(*lacking, name) != lacking->end()), name);
    }
    folder.write(
        "root/lib/modules/6.1.0-x/modules.builtin",
        "kernel/net/ip_tables.ko\nkernel/net/iptable_nat.ko\nkernel/net/nf_conntrack.ko\n");
    const auto less = lacking_for_nat(*found);
    BOOST_REQUIRE_MESSAGE(less, why(less));
    BOOST_TEST((std::ranges::find(*less, "nft_chain_nat") == less->end()));
    BOOST_TEST((std::ranges::find(*less, "nf_conntrack") == less->end()));
    BOOST_TEST((std::ranges::find(*less, "xt_MASQUERADE") != less->end()));
}

BOOST_AUTO_TEST_CASE(a_package_names_its_kernel) {
    const std::string shown =
        "Package: linux-image-amd64\nSource: linux\nVersion: 6.1.192-2\n"
        "Depends: linux-image-6.1.0-56-amd64 (= 6.1.192-2)\n\nPackage: another\nDepends: x\n";
    BOOST_TEST(control_field(shown, "Version") == "6.1.192-2");
    BOOST_TEST(control_field(shown, "Sou").empty());
    BOOST_TEST(control_field(shown, "Recommends").empty());
    BOOST_TEST(kernel_package_of(control_field(shown, "Depends")) == "linux-image-6.1.0-56-amd64");
    BOOST_TEST(kernel_package_of("linux-base, linux-image-6.12|x") == "linux-image-6.12");
    BOOST_TEST(kernel_package_of("nothing of it").empty());
}

BOOST_AUTO_TEST_CASE(nics_are_named_or_refused) {
    BOOST_TEST(parse_nics("all")->size() == all_nics().size());
    const auto two = parse_nics("rtl8139,e1000e");
    BOOST_REQUIRE(two);
    BOOST_TEST(two->at(0).module == "8139cp");
    BOOST_TEST(two->at(1).device == "e1000e");
    for (const char* wrong : {"e1001", "e1000,,x", "e1000e,all"}) {
        BOOST_TEST(contains(why(parse_nics(wrong)), "there are: all, e1000, e1000e"), wrong);
    }
    BOOST_TEST(!parse_nics(""));
    BOOST_TEST(std::ranges::count(all_nics(), true, &Nic::vnet_header) == 1);
}

BOOST_AUTO_TEST_CASE(frames_come_whole_however_they_are_cut_and_noise_is_no_frame) {
    const std::string long_one(70'000, 'y');
    const std::string all =
        relay_frame(Relayed::kOutput, "out") + relay_frame(Relayed::kErrors, long_one) +
        relay_frame(Relayed::kOutput, "") + relay_frame(Relayed::kExit, std::string(1, '\3'));
    for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, all.size()}) {
        RelayReader reader;
        std::vector<std::pair<Relayed, std::string>> seen;
        for (std::size_t at = 0; at < all.size(); at += piece) {
            const Status fed = reader.feed(
                std::string_view(all).substr(at, piece),
                [&](Relayed kind, std::string_view bytes) { seen.emplace_back(kind, bytes); });
            BOOST_TEST(fed.has_value());
        }
        BOOST_REQUIRE(seen.size() == 4U);
        BOOST_TEST((seen[0] == std::pair{Relayed::kOutput, std::string("out")}));
        BOOST_TEST((seen[1] == std::pair{Relayed::kErrors, long_one}));
        BOOST_TEST((seen[3] == std::pair{Relayed::kExit, std::string(1, '\3')}));
    }
    const auto ignore = [](Relayed, std::string_view) {};
    BOOST_TEST(!RelayReader().feed("nonsense", ignore));
    BOOST_TEST(!RelayReader().feed(std::string("o\xff\xff\xff\xff", 5), ignore));
}

BOOST_AUTO_TEST_CASE(a_program_is_told_to_the_guest_as_it_is) {
    const Program program{.path = "/usr/bin/pathproof",
                          .words = {"pathproof", "repro", "it's"},
                          .folder = "/root",
                          .environment = {"HOME=/root"},
                          .writable = {"/root", "/a b"}};
    const auto read = program_of(to_json(program));
    BOOST_REQUIRE(read);
    BOOST_TEST(read->words == program.words);
    BOOST_TEST(read->writable == program.writable);
    BOOST_TEST(read->path == program.path);
    BOOST_TEST(!program_of("{}"));
    BOOST_TEST(!program_of("["));
}

BOOST_AUTO_TEST_CASE(events_and_greetings_are_no_answers) {
    BOOST_TEST(!qmp_answer(R"({"QMP": {"version": {}}})"));
    BOOST_TEST(!qmp_answer(R"({"event": "SHUTDOWN", "data": {}})"));
    BOOST_TEST(!qmp_answer("rubbish"));
    BOOST_TEST(!qmp_answer("[1]"));
    BOOST_TEST((**qmp_answer(R"({"return": {"status": "running"}})"))["status"] == "running");
    BOOST_TEST(contains(why(*qmp_answer(R"({"error": {"class": "x", "desc": "no such device"}})")),
                        "no such device"));
    BOOST_TEST(contains(why(*qmp_answer(R"({"error": 7})")), "no reason given"));
}

BOOST_AUTO_TEST_CASE(the_name_of_a_monitor_fits_a_socket_or_is_refused) {
    const auto fits = Qmp::connect("", std::string(107, 'x'));
    BOOST_TEST((why(fits) == "QEMU's monitor: Connection refused"));
    const auto longer = Qmp::connect("", std::string(108, 'x'));
    BOOST_REQUIRE(!longer);
    BOOST_TEST((longer.error().code == ErrorCode::kBadInput));
    BOOST_TEST(contains(why(longer), "may have 107 bytes"));
    BOOST_TEST(contains(why(longer), "has 108"));
}
