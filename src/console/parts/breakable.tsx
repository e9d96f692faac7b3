import { Fragment } from "react";

/** A name of words joined by underscores, which a narrow column may break after each of them. */
export function Breakable({ name }: { readonly name: string }) {
  return name.split(/(?<=_)/).map((word, at) => (
    <Fragment key={at}>
      {word}
      <wbr />
    </Fragment>
  ));
}
