import { createContext, useContext, useEffect, type RefObject, useRef } from "react";

/** Has the heading of a page that somebody goes to take the focus: a screen reader then says where they are. */
export interface Arrival {
  /** Somebody leaves for another page. */
  depart(): void;
  /** The page is there, with this heading. */
  arrive(heading: HTMLElement): void;
}

/** Knows of one departure at a time. The first page of a visit has none: it is read from its top. */
export function createArrival(): Arrival {
  let from: Element | undefined;
  return {
    depart() {
      from = document.activeElement ?? document.body;
    },
    arrive(heading) {
      if (from === undefined) return;
      const at = document.activeElement;
      // Who has gone on to something else meanwhile stays there.
      if (at === null || at === document.body || at === from) heading.focus({ preventScroll: true });
      from = undefined;
    },
  };
}

/** Where headings find it. */
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
