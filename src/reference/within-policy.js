/* global document, Document, Element, HTMLStyleElement */
// Runs before the reference's own script and makes its styles comply with the page's policy, which requires a nonce. A
// style element gets the nonce; a style attribute is set as a property, which policies do not restrict.
{
  // Prevents its validation library from testing whether it may generate code.
  globalThis.__zod_globalConfig = { jitless: true };
  const nonce = document.querySelector("meta[property=csp-nonce]").content;
  const { createElement } = Document.prototype;
  const { setAttribute } = Element.prototype;
  Document.prototype.createElement = function createElementWithin(...given) {
    const element = createElement.apply(this, given);
    if (element instanceof HTMLStyleElement) element.nonce = nonce;
    return element;
  };
  const inner = Object.getOwnPropertyDescriptor(Element.prototype, "innerHTML");
  Object.defineProperty(Element.prototype, "innerHTML", {
    ...inner,
    set(markup) {
      const isStyled = /<[a-z][^<>]*\sstyle=/i.test(markup);
      inner.set.call(this, isStyled ? String(markup).replaceAll(/(<[a-z][^<>]*\s)style=/gi, "$1data-style=") : markup);
      if (!isStyled) return;
      for (const element of (this.content ?? this).querySelectorAll("[data-style]")) {
        element.style.cssText = element.dataset.style;
        element.removeAttribute("data-style");
      }
    },
  });
  Element.prototype.setAttribute = function setAttributeWithin(name, value) {
    if (name === "style" && this.style) this.style.cssText = value;
    else setAttribute.call(this, name, value);
  };
}
