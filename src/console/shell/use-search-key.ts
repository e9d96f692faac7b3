import { useEffect } from "react";

/** Where a slash is a letter like any other. */
const TYPED_INTO = "input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]";

/** `/` leads to the search of the page, where it has one and nothing is being typed. */
export function useSearchKey(): void {
  useEffect(() => {
    function lead(event: KeyboardEvent): void {
      if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.target instanceof Element && event.target.matches(TYPED_INTO)) return;
      if (document.querySelector("[aria-modal=true]") !== null) return;
      const search = document.querySelector<HTMLInputElement>("main input[type=search]");
      if (search === null) return;
      event.preventDefault();
      search.focus();
      search.select();
    }
    document.addEventListener("keydown", lead);
    return () => {
      document.removeEventListener("keydown", lead);
    };
  }, []);
}
