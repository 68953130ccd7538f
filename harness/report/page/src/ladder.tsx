// The packet ladder: a flow's packets on the wires that it crosses, and the conntrack entry's life beside them.
// A proof whose first column is a time ("ms") and whose other columns are places is one: each row is a moment.
import { Frame, wrapped } from "./charts";
import type { Proof } from "./model";

const kTimeWidth = 58;
const kLine = 14;
const kPad = 7;

export const isLadder = (proof: Proof) => proof.columns.length >= 3 && proof.columns[0] === "ms";

type Kind = "packet" | "event" | "gap";
interface Moment { time: string; lane: number; text: string; kind: Kind; lost: boolean }

function momentsOf(proof: Proof): Moment[] {
  return proof.rows.map(([time, ...places]) => {
    const lane = Math.max(0, places.findIndex((text) => text !== ""));
    const text = places[lane];
    const isEvent = /conntrack/i.test(proof.columns[lane + 1]);
    return {
      time, lane, text, kind: time === "" ? "gap" : isEvent ? "event" : "packet",
      lost: /drop|lost|never|refus|RST|unreachable/i.test(text),
    };
  });
}

export function Ladder({ proof }: { proof: Proof }) {
  const lanes = proof.columns.slice(1);
  const moments = momentsOf(proof);
  const layOut = (width: number) => {
    const laneWidth = (width - kTimeWidth) / lanes.length;
    const heads = lanes.map((lane) => wrapped(lane, laneWidth - 8));
    const headHeight = Math.max(...heads.map((lines) => lines.length)) * kLine + 10;
    let top = headHeight;
    const rows = moments.map((moment) => {
      const lines = wrapped(moment.text, laneWidth - 26);
      const row = { moment, lines, top };
      top += lines.length * kLine + kPad;
      return row;
    });
    return { laneWidth, heads, headHeight, rows, bottom: top };
  };
  const label = `${proof.title}: ` + moments.map((moment) => `${moment.time} ms, ${lanes[moment.lane]}: ${moment.text}`).join("; ");
  return (
    <Frame label={label} height={(width) => layOut(width).bottom + 4}>
      {(width) => {
        const { laneWidth, heads, headHeight, rows, bottom } = layOut(width);
        const left = (lane: number) => kTimeWidth + lane * laneWidth;
        return (
          <>
            <text class="axis" x={0} y={kLine}>ms</text>
            {heads.map((lines, lane) => (
              <g>
                <rect class={lane % 2 ? "lane odd" : "lane"} x={left(lane)} y={0} width={laneWidth - 4} height={bottom} />
                {lines.map((text, i) => <text class="lanehead" x={left(lane) + 6} y={kLine * (i + 1)}>{text}</text>)}
                <line class="rail" x1={left(lane) + 10} x2={left(lane) + 10} y1={headHeight - 4} y2={bottom} />
              </g>
            ))}
            {rows.map(({ moment, lines, top }) => {
              const x = left(moment.lane) + 10;
              const y = top + 8;
              return (
                <g class={`moment ${moment.kind}${moment.lost ? " lost" : ""}`}>
                  <text class="tick" x={kTimeWidth - 8} y={top + 12} text-anchor="end">{moment.time}</text>
                  {moment.kind === "event" ? <rect x={x - 4} y={y - 4} width={8} height={8} />
                    : moment.kind === "packet" ? <circle cx={x} cy={y} r={4} /> : null}
                  {lines.map((text, i) => <text class="what" x={x + 10} y={top + 12 + kLine * i}>{text}</text>)}
                </g>
              );
            })}
          </>
        );
      }}
    </Frame>
  );
}
