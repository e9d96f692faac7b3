import { Fragment } from "react";

/** A name with line break opportunities after its underscores. */
export function Breakable({ name }: { readonly name: string }) {
  return name.split(/(?<=_)/).map((word, at) => (
    <Fragment key={at}>
      {word}
      <wbr />
    </Fragment>
  ));
}
