import { createContext, useContext, useEffect, type RefObject, useRef } from "react";

/** Moves the focus to the heading of a newly opened page, so that a screen reader announces it. */
export interface Arrival {
  /** Called when the reader leaves a page. */
  depart(): void;
  /** Called when the new page is shown, with its heading. */
  arrive(heading: HTMLElement): void;
}

/** Remembers one navigation at a time. The first page of a visit is not focused, because it is read from the top. */
export function createArrival(): Arrival {
  let from: Element | undefined;
  return {
    depart() {
      from = document.activeElement ?? document.body;
    },
    arrive(heading) {
      if (from === undefined) return;
      const at = document.activeElement;
      // A reader who moved the focus meanwhile keeps it.
      if (at === null || at === document.body || at === from) heading.focus({ preventScroll: true });
      from = undefined;
    },
  };
}

export const ArrivalContext = createContext<Arrival | undefined>(undefined);

/** The ref of a page's heading. */
export function useArrival(title: string): RefObject<HTMLHeadingElement | null> {
  const arrival = useContext(ArrivalContext);
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (heading.current !== null) arrival?.arrive(heading.current);
  }, [arrival, title]);
  return heading;
}
