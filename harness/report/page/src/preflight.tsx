// The lab's cables, and the checks before the run.
import { number, plural } from "./format";
import type { Preflight, Report } from "./model";
import { Fold, Table } from "./parts";

const kRow = 34;
const kWide = 620;
const kBox = 190;

// Tester ports on the left, the DUT's devices on the right, a line for each cable: dashed where no frame proved it.
function Cabling({ cables }: { cables: Preflight["cables"] }) {
  const label = cables.map(({ port, device, proof }) => `${port} to ${device}: ${proof}`).join("; ");
  return (
    <svg class="cabling" role="img" aria-label={label} viewBox={`0 0 ${kWide} ${kRow * cables.length + 24}`}>
      <text class="lanehead" x={0} y={14}>tester</text>
      <text class="lanehead" x={kWide - kBox} y={14}>device under test</text>
      {cables.map(({ port, device, proof }, i) => {
        const y = 24 + kRow * i;
        const proven = proof === "both ways";
        return (
          <g class={proven ? "proven" : "unproven"}>
            <rect x={0} y={y} width={kBox} height={24} rx={4} /><text class="label" x={8} y={y + 16}>{port}</text>
            <path d={`M${kBox} ${y + 12}H${kWide - kBox}`} />
            <text class="tick" x={kWide / 2} y={y + 8} text-anchor="middle">{proof}</text>
            <rect x={kWide - kBox} y={y} width={kBox} height={24} rx={4} /><text class="label" x={kWide - kBox + 8} y={y + 16}>{device}</text>
          </g>
        );
      })}
    </svg>
  );
}

const known = (value: number, unit = "") => (value < 0 ? "not known" : `${number(value)}${unit && ` ${unit}`}`);

export function Lab({ report }: { report: Report }) {
  const { checks, ports, cables } = report.preflight!;
  const rows = (some: Preflight["checks"]) => some.map((check) => [check.outcome, check.of, check.what, check.found]);
  const heads = ["outcome", "of", "what", "found, and what mends it"];
  const loud = checks.filter((check) => check.outcome === "BAD" || check.outcome === "doubt");
  const quiet = checks.filter((check) => !loud.includes(check));
  return (
    <>
      {cables.length > 0 && <Cabling cables={cables} />}
      {loud.length > 0 && <Table label="Checks that found something" heads={heads} rows={rows(loud)} />}
      {quiet.length > 0 && <Fold title={`${plural(quiet.length, "check")} that found nothing wrong, or were not made`}><Table label="Other checks" heads={heads} rows={rows(quiet)} /></Fold>}
      {ports.length > 0 && (
        <Fold title={plural(ports.length, "port")}>
          <Table label="Ports" heads={["host", "port", "device", "driver", "firmware", "MAC", "addresses", "link", "MTU", "NUMA node", "PCIe"]}
            rows={ports.map((port) => [port.host, port.name, port.device, port.driver, port.firmware, port.mac, port.addresses.join(", "), known(port.link_mbps, "Mbit/s"), known(port.mtu), known(port.numa_node), port.pcie])} />
        </Fold>
      )}
    </>
  );
}
