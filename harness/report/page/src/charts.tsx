// Inline SVG charts: bars and curves with their 95 % intervals, on axes with titles.
// A chart is drawn for the width that it has, so that its text keeps its size; on paper it scales.
import { scaleLinear, scaleLog, scaleSymlog } from "d3-scale";
import { area, line } from "d3-shape";
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { intervalText, number, Text, withUnit } from "./format";
import type { Bar, Chart, Curve } from "./model";

const kTone = { good: "good", bad: "bad", neutral: "mute" } as const;
const kCharacter = 6.6; // width of a character of the labels, px

interface FrameProps { label: string; height: (width: number) => number; children: (width: number) => ComponentChildren }

// An SVG element as wide as the place it stands in.
export function Frame({ label, height, children }: FrameProps) {
  const place = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(560);
  useLayoutEffect(() => {
    const element = place.current!;
    const measure = () => element.clientWidth > 0 && setWidth(Math.max(240, element.clientWidth));
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const high = height(width);
  return (
    <div class="frame" ref={place}>
      <svg role="img" aria-label={label} viewBox={`0 0 ${width} ${high}`}>{children(width)}</svg>
    </div>
  );
}

// Breaks a label into lines of so many pixels.
export function wrapped(text: string, width: number): string[] {
  const most = Math.max(8, Math.floor(width / kCharacter));
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines[lines.length - 1];
    if (last !== undefined && last.length + 1 + word.length <= most) {
      lines[lines.length - 1] = `${last} ${word}`;
    } else {
      lines.push(word);
    }
  }
  return lines;
}

const kBarHeight = 16;
const kRowGap = 12;
const kAxisHeight = 42;

// Rows of bars under each other, each as high as its label needs.
function layOutRows(bars: Bar[], width: number) {
  const narrow = width < 460;
  const labelWidth = narrow ? width : Math.min(260, width * 0.36);
  let top = 4;
  const rows = bars.map((bar) => {
    const lines = wrapped(bar.label, labelWidth - 12);
    const textHeight = lines.length * 15;
    const row = { bar, lines, textTop: top + 12, barTop: narrow ? top + textHeight + 2 : top + Math.max(0, (textHeight - kBarHeight) / 2) };
    top += (narrow ? textHeight + 2 + kBarHeight : Math.max(textHeight, kBarHeight)) + kRowGap;
    return row;
  });
  return { rows, left: narrow ? 0 : labelWidth, bottom: top };
}

function BarChart({ chart }: { chart: Chart }) {
  const values = chart.bars.flatMap((bar) => [bar.value, bar.interval?.high ?? 0]);
  const maximum = chart.maximum || Math.max(...values, 0) || 1;
  const label = `${chart.title}: ` + chart.bars.map((bar) => `${bar.label} ${withUnit(number(bar.value), chart.unit)}` +
    (bar.interval ? `, interval ${intervalText(bar.interval, bar.value)}` : "")).join("; ");
  return (
    <Frame label={label} height={(width) => layOutRows(chart.bars, width).bottom + kAxisHeight}>
      {(width) => {
        const { rows, left, bottom } = layOutRows(chart.bars, width);
        const valueWidth = 128;
        const x = scaleLinear([0, maximum], [left, width - valueWidth]).clamp(true);
        if (!chart.maximum) {
          x.nice(4);
        }
        return (
          <>
            {x.ticks(4).map((tick) => (
              <g key={tick}>
                <line class="grid" x1={x(tick)} x2={x(tick)} y1={0} y2={bottom} />
                <text class="tick" x={x(tick)} y={bottom + 14} text-anchor="middle">{number(tick)}</text>
              </g>
            ))}
            <text class="axis" x={(left + width - valueWidth) / 2} y={bottom + 33} text-anchor="middle">
              {chart.unit ? `share or amount, ${chart.unit}`.replace("share or amount, %", "share, %") : "count"}
            </text>
            {rows.map(({ bar, lines, textTop, barTop }) => (
              <g key={bar.label}>
                {lines.map((text, i) => <text class="label" x={0} y={textTop + 15 * i}>{text}</text>)}
                <rect class={`bar ${kTone[bar.kind]}`} x={left} y={barTop} width={Math.max(0, x(bar.value) - left)} height={kBarHeight} />
                {bar.interval && <Whisker low={x(bar.interval.low)} high={x(bar.interval.high)} y={barTop + kBarHeight / 2} />}
                <text class="value" x={width - valueWidth + 10} y={barTop + 12}>{withUnit(number(bar.value), chart.unit)}
                  {bar.interval && <tspan class="soft">{"  "}{intervalText(bar.interval, bar.value)}</tspan>}
                </text>
              </g>
            ))}
          </>
        );
      }}
    </Frame>
  );
}

function Whisker({ low, high, y }: { low: number; high: number; y: number }) {
  const path = `M${low} ${y}H${high}M${low} ${y - 5}v10M${high} ${y - 5}v10`;
  return <><path class="halo" d={path} /><path class="whisker" d={path} /></>;
}

export interface Axis { title: string; scale: "linear" | "log" | "symlog"; maximum: number; minimum?: number }

// The decades and their 2 and 5 of a logarithmic axis; every decade alone where that would be too many.
function logTicks(minimum: number, maximum: number, most: number): number[] {
  const ticks: number[] = [];
  for (let decade = 10 ** Math.floor(Math.log10(minimum)); decade <= maximum; decade *= 10) {
    ticks.push(decade, 2 * decade, 5 * decade);
  }
  const within = ticks.filter((tick) => tick >= minimum && tick <= maximum);
  return within.length <= most ? within : within.filter((tick) => Number.isInteger(Math.log10(tick)));
}

const kLeft = 46;
const kBottom = 40;
const kTop = 8;

export interface CurvesProps {
  title: string; curves: Curve[]; x: Axis; y: Axis; marks?: Chart["marks"]; height?: number;
}

// Curves with bands for the intervals; each has its own dash and marker beside its colour.
export function CurveChart({ title, curves, x: across, y: up, marks = [], height = 210 }: CurvesProps) {
  const markHeight = 18 * (marks?.length ?? 0);
  const label = `${title}. ` + curves.map((curve) => `${curve.label}: ` +
    curve.points.map((point) => `${number(point.y)} at ${number(point.x)}`).join(", ")).join(". ");
  return (
    <Frame label={label} height={() => height + markHeight}>
      {(width) => {
        const bottom = height - kBottom;
        const range: [number, number] = [kLeft, width - 10];
        const x = across.scale === "log" ? scaleLog([across.minimum!, across.maximum], range).clamp(true)
          : across.scale === "symlog" ? scaleSymlog([across.minimum ?? 0, across.maximum], range).clamp(true)
          : scaleLinear([across.minimum ?? 0, across.maximum], range).nice(5).clamp(true);
        const y = scaleLinear([up.minimum ?? 0, up.maximum], [bottom, kTop]).clamp(true);
        const xTicks = across.scale === "linear" ? x.ticks(Math.max(2, Math.floor(width / 90)))
          : logTicks(Math.max(across.minimum ?? 0, 1), across.maximum, Math.floor(width / 34));
        const path = line<{ x: number; y: number }>((point) => x(point.x), (point) => y(point.y));
        const band = area<Curve["points"][number]>((point) => x(point.x), (point) => y(point.interval!.low),
          (point) => y(point.interval!.high));
        return (
          <>
            {y.ticks(4).map((tick) => (
              <g><line class="grid" x1={kLeft} x2={width - 10} y1={y(tick)} y2={y(tick)} />
                <text class="tick" x={kLeft - 6} y={y(tick) + 4} text-anchor="end">{number(tick)}</text></g>
            ))}
            {xTicks.map((tick) => (
              <g><line class="grid" x1={x(tick)} x2={x(tick)} y1={kTop} y2={bottom} />
                <text class="tick" x={x(tick)} y={bottom + 15} text-anchor="middle">{number(tick)}</text></g>
            ))}
            <text class="axis" x={(kLeft + width) / 2} y={bottom + 33} text-anchor="middle">{fit(across.title, width - kLeft)}</text>
            <text class="axis" transform={`translate(10 ${(kTop + bottom) / 2}) rotate(-90)`} text-anchor="middle">{up.title}</text>
            {curves.map((curve, i) => (
              <g class={`look${i % 5}`}>
                <path class="band" d={band(curve.points.filter((point) => point.interval)) ?? ""} />
                <path class="curve" d={path(curve.points) ?? ""} />
                {curve.points.map((point) => (
                  <circle class="dot" cx={x(point.x)} cy={y(point.y)} r={2.5}>
                    <title>{`${curve.label}: ${number(point.y)} at ${number(point.x)}`}</title>
                  </circle>
                ))}
              </g>
            ))}
            {(marks ?? []).map((mark, i) => {
              const down = height + 18 * i + 2;
              const leftward = x(mark.middle) > width * 0.6;
              return (
                <g class="axismark">
                  <line class="where" x1={x(mark.middle)} x2={x(mark.middle)} y1={kTop} y2={down} />
                  <line class="range" x1={x(mark.low)} x2={x(mark.high)} y1={down} y2={down} />
                  <text class="tick" x={leftward ? x(mark.low) - 4 : x(mark.high) + 4} y={down + 4} text-anchor={leftward ? "end" : "start"}>{mark.label}</text>
                </g>
              );
            })}
          </>
        );
      }}
    </Frame>
  );
}

// An axis title as far as it fits; the full text is in the caption beside the chart.
function fit(text: string, width: number): string {
  const most = Math.floor(width / 5.9);
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}

export function Legend({ labels }: { labels: string[] }) {
  return (
    <ul class="legend">
      {labels.map((label, i) => (
        <li class={`look${i % 5}`}><svg width="26" height="10" aria-hidden="true"><path class="curve" d="M0 5H26" /></svg>{label}</li>
      ))}
    </ul>
  );
}

const isCurves = (chart: Chart) => (chart.curves?.length ?? 0) > 0;

// A scale that fits the data: logarithmic where the values span more than a factor of four, as log(1 + x) where some of
// them lie below 1.
function xAxis(charts: Chart[]): Axis {
  const values = charts.flatMap((chart) => [
    ...(chart.curves ?? []).flatMap((curve) => curve.points.map((point) => point.x)),
    ...(chart.marks ?? []).flatMap((mark) => [mark.low, mark.high]),
  ]);
  const maximum = Math.max(1, ...values);
  const minimum = Math.min(maximum, ...values);
  const scale = minimum < 1 ? "symlog" : maximum / minimum > 4 ? "log" : "linear";
  return { title: charts[0].x_label ?? "", scale, maximum, minimum: scale === "log" ? minimum : 0 };
}

function yMaximum(charts: Chart[]): number {
  return Math.max(...charts.map((chart) => chart.maximum ||
    Math.max(...chart.curves!.flatMap((curve) => curve.points.map((point) => point.interval?.high ?? point.y)), 1)));
}

function curveFigure(chart: Chart, title: string, among: Chart[], height: number) {
  return (
    <figure class="chart">
      <figcaption><Text>{title}</Text></figcaption>
      <CurveChart title={chart.title} curves={chart.curves!} marks={chart.marks} height={height}
        x={{ ...xAxis(among), title: chart.x_label ?? "" }}
        y={{ title: chart.unit, scale: "linear", maximum: yMaximum(among) }} />
      <Legend labels={chart.curves!.map((curve) => curve.label)} />
    </figure>
  );
}

// Several charts of curves over one axis are small multiples: the same scales, side by side.
export function Charts({ charts }: { charts: Chart[] }) {
  const multiples = charts.filter(isCurves);
  const bars = charts.filter((chart) => !isCurves(chart) && chart.bars.length > 0);
  const endings = new Set(multiples.map((chart) => chart.title.split(": ").slice(1).join(": ")));
  const shared = multiples.length > 1 && endings.size === 1 ? [...endings][0] : "";
  return (
    <>
      {bars.map((chart) => (
        <figure class="chart">
          <figcaption><Text>{chart.title}</Text></figcaption>
          <BarChart chart={chart} />
        </figure>
      ))}
      {bars.some((chart) => chart.bars.some((bar) => bar.interval)) && <p class="note">Whiskers and small figures: the 95 % interval.</p>}
      {multiples.length > 0 && (
        <div class="multiples">
          {shared && <p class="lead"><b>{shared[0].toUpperCase() + shared.slice(1)}</b>, one chart for each way. Across: {multiples[0].x_label}. Bands: the 95 % interval.</p>}
          <div class="many">
            {multiples.map((chart) => curveFigure(chart, shared ? chart.title.split(": ")[0] : chart.title, shared ? multiples : [chart], multiples.length > 1 ? 190 : 230))}
          </div>
        </div>
      )}
    </>
  );
}
