// The packet ladder: a flow's packets on the wires that it crosses, as arrows between client, DUT and server, and the
// life of its conntrack entry beside them. A proof whose columns are these is one; each of its rows is a moment.
import { Frame, wrapped } from "./charts";
import type { Proof } from "./model";

const kColumns = ["ms", "before NAT", "after NAT", "conntrack"];
const kRails = ["client", "DUT", "server"];
const kTimeWidth = 62;
const kLine = 13;
const kPad = 12;
const kHead = 22;

export const isLadder = (proof: Proof) =>
  proof.columns.length === kColumns.length && kColumns.every((word, i) => proof.columns[i].includes(word));

interface Moment {
  time: string;
  lane: number; // 0: before NAT, 1: after it, 2: conntrack
  text: string;
  forward: boolean; // of a packet: from the client's side to the server's
  refused: boolean;
}

const sourceOf = (text: string) => /^(\S+?)(:\d+)? > /.exec(text)?.[1] ?? "";

// Each wire's first packet is the client's or the NAT's towards the server: what has its source goes that way.
function momentsOf(proof: Proof): Moment[] {
  const towards: string[] = [];
  return proof.rows.map(([time, ...places]) => {
    const lane = Math.max(0, places.findIndex((text) => text !== ""));
    const source = sourceOf(places[lane]);
    if (time !== "" && source) {
      towards[lane] ??= source;
    }
    return {
      time, lane, text: places[lane], forward: source === towards[lane],
      refused: /\bRST\b|ICMP type 3/.test(places[lane]),
    };
  });
}

// Rows between which an entry lives: from its NEW (or the start) to its DESTROY (or the end).
function livesOf(moments: Moment[]): [number, number][] {
  const lives: [number, number][] = [];
  let begin: number | null = null;
  moments.forEach(({ lane, text }, i) => {
    if (lane === 2 && begin === null && /^\[NEW\]|^there at the start/.test(text)) {
      begin = i;
    } else if (lane === 2 && begin !== null && /^\[DESTROY\]/.test(text)) {
      lives.push([begin, i]);
      begin = null;
    }
  });
  return begin === null ? lives : [...lives, [begin, moments.length - 1]];
}

export function Ladder({ proof }: { proof: Proof }) {
  const moments = momentsOf(proof);
  const lives = livesOf(moments);
  const layOut = (width: number) => {
    const entryWidth = (width - kTimeWidth) * 0.3;
    const wireWidth = (width - kTimeWidth - entryWidth) / 2;
    let top = kHead;
    const rows = moments.map((moment) => {
      const lines = wrapped(moment.text, moment.lane === 2 ? entryWidth - 40 : wireWidth - 14);
      const row = { moment, lines, top, line: top + lines.length * kLine + 4 };
      top += lines.length * kLine + kPad;
      return row;
    });
    return { entryWidth, wireWidth, rows, bottom: top + 4 };
  };
  const label = `${proof.title}: ` + moments.map(({ time, lane, text, forward }) =>
    `${time} ms, ${lane === 2 ? "conntrack" : `${proof.columns[lane + 1]}, ${forward ? "to the server" : "to the client"}`}: ${text}`).join("; ");
  return (
    <Frame label={label} height={(width) => layOut(width).bottom}>
      {(width) => {
        const { wireWidth, rows, bottom } = layOut(width);
        const rail = (i: number) => kTimeWidth + i * wireWidth;
        const entry = rail(2) + 26;
        return (
          <>
            <text class="axis" x={kTimeWidth - 10} y={13} text-anchor="end">ms</text>
            {kRails.map((name, i) => (
              <g>
                <text class="lanehead" x={rail(i)} y={13} text-anchor={i === 0 ? "start" : "middle"}>{name}</text>
                <line class="rail" x1={rail(i)} x2={rail(i)} y1={kHead - 4} y2={bottom} />
              </g>
            ))}
            <text class="lanehead" x={entry + 12} y={13}>conntrack's entry</text>
            {lives.map(([begin, end]) => (
              <rect class="life" x={entry - 3} y={rows[begin].top + 3} width={6} height={rows[end].line - rows[begin].top - 3} rx={3} />
            ))}
            {rows.map(({ moment, lines, top, line }) => {
              const isEntry = moment.lane === 2;
              const from = rail(moment.lane) + 4;
              const to = rail(moment.lane + 1) - 4;
              const [tail, tip] = moment.forward ? [from, to] : [to, from];
              const back = moment.forward ? -7 : 7;
              return (
                <g class={`moment${isEntry ? " entry" : ""}${moment.refused ? " refused" : ""}${moment.time ? "" : " gap"}`}>
                  <text class="tick" x={kTimeWidth - 10} y={top + 12} text-anchor="end">{moment.time}</text>
                  {isEntry ? <circle cx={entry} cy={top + 8} r={4} />
                    : moment.time !== "" && <path class="arrow" d={`M${tail} ${line}H${tip}m${back} -4L${tip} ${line}l${back} 4`} />}
                  {lines.map((text, i) => <text class="what" x={isEntry ? entry + 12 : from + 4} y={top + 12 + kLine * i}>{text}</text>)}
                </g>
              );
            })}
          </>
        );
      }}
    </Frame>
  );
}
