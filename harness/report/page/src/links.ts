// Links into the page: whatever is folded around the place that a link names unfolds, and the place is lit up.

export function openPath(element: Element): void {
  for (let at: Element | null = element; at; at = at.parentElement) {
    if (at instanceof HTMLDetailsElement) {
      at.open = true;
    }
  }
  const own = element.querySelector(":scope > details");
  if (own instanceof HTMLDetailsElement) {
    own.open = true;
  }
}

// Whether there is such a place.
export function goTo(id: string): boolean {
  const element = document.getElementById(id);
  if (!element) {
    return false;
  }
  openPath(element);
  element.scrollIntoView({ block: "start" });
  document.querySelectorAll(".lit").forEach((each) => each.classList.remove("lit"));
  element.classList.add("lit");
  return true;
}

export function followHash(): void {
  const id = decodeURIComponent(location.hash.slice(1));
  if (id && !id.startsWith("print=")) {
    goTo(id);
  }
}
