import { useEffect } from "react";

/** Elements in which a slash is ordinary input. */
const TYPED_INTO = "input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]";

/** `/` focuses the page's search field, unless the reader is typing. */
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
