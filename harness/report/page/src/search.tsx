// Search over ids and names: scenarios, cells, causes, offloads and facts of the environment. "/" leads here.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { goTo } from "./links";
import { allCells, cellId, findingId, lookOfCell, type Report } from "./model";

const kMostShown = 12;
// Typed loosely: the types of Preact want a data list beside this role.
const kCombobox: object = { role: "combobox" };

interface Entry { text: string; kind: string; target: string; folded: string }

function entriesOf(report: Report): Entry[] {
  const entries: Omit<Entry, "folded">[] = [];
  for (const scenario of report.scenarios) {
    entries.push({ text: `${scenario.id}: ${scenario.title}`, kind: scenario.verdict, target: scenario.id });
    for (const cell of allCells(scenario)) {
      entries.push({ text: cellId(scenario, cell), kind: lookOfCell(cell).word, target: cellId(scenario, cell) });
      if (cell.cause) {
        entries.push({ text: findingId(scenario, cell), kind: "cause", target: cellId(scenario, cell) });
      }
    }
  }
  for (const group of report.environment) {
    for (const fact of group.facts) {
      entries.push({ text: `${fact.name}: ${fact.value ?? fact.status} (${group.title})`, kind: "environment", target: "environment" });
    }
  }
  return entries.map((entry) => ({ ...entry, folded: entry.text.toLowerCase() }));
}

// Entries that hold every word, those that begin with the first one before the others.
function find(entries: Entry[], query: string): Entry[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) {
    return [];
  }
  const found = entries.filter((entry) => words.every((word) => entry.folded.includes(word)));
  return found.sort((a, b) => Number(b.folded.startsWith(words[0])) - Number(a.folded.startsWith(words[0])));
}

export function Search({ report }: { report: Report }) {
  const [query, setQuery] = useState("");
  const [chosen, setChosen] = useState(0);
  const input = useRef<HTMLInputElement>(null);
  const entries = useMemo(() => entriesOf(report), [report]);
  const found = useMemo(() => find(entries, query), [entries, query]);
  const shown = found.slice(0, kMostShown);

  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const typing = event.target instanceof HTMLInputElement;
      if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) {
        event.preventDefault();
        input.current!.focus();
      }
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);

  const go = (entry: Entry | undefined) => {
    if (entry) {
      setQuery("");
      input.current!.blur();
      history.replaceState(null, "", `#${encodeURI(entry.target)}`);
      goTo(entry.target);
    }
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1 };
    if (event.key in steps) {
      event.preventDefault();
      setChosen((chosen + steps[event.key] + shown.length) % Math.max(1, shown.length));
    } else if (event.key === "Enter") {
      go(shown[chosen]);
    } else if (event.key === "Escape") {
      setQuery("");
      input.current!.blur();
    }
  };
  const isOpen = query.trim() !== "";
  return (
    <div class="search">
      <input ref={input} type="search" placeholder="Search ids  /" aria-label="Search scenarios, cells, causes and facts" {...kCombobox}
        aria-expanded={isOpen} aria-controls="search-results" aria-autocomplete="list" autocomplete="off"
        aria-activedescendant={isOpen && shown.length ? `found-${chosen}` : undefined} value={query}
        onInput={(event) => { setQuery(event.currentTarget.value); setChosen(0); }} onKeyDown={onKeyDown} />
      <ul id="search-results" role="listbox" aria-label="Found" hidden={!isOpen}>
        {shown.map((entry, i) => (
          <li id={`found-${i}`} role="option" aria-selected={i === chosen} onMouseDown={(event) => { event.preventDefault(); go(entry); }}>
            <span>{entry.text}</span><small>{entry.kind}</small>
          </li>
        ))}
        {isOpen && !shown.length && <li role="option" aria-selected={false} aria-disabled="true">Nothing here has that in its id or name</li>}
        {found.length > shown.length && <li role="option" aria-selected={false} aria-disabled="true"><small>and {found.length - shown.length} more</small></li>}
      </ul>
    </div>
  );
}
