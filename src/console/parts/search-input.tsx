import { Kbd, TextInput } from "@mantine/core";

/** The search field of a page; `/` focuses it. */
export function SearchInput({
  label,
  placeholder,
  value,
  onChange,
}: {
  /** The label for assistive technology. */
  readonly label: string;
  readonly placeholder: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}) {
  return (
    <TextInput
      type="search"
      aria-label={label}
      aria-keyshortcuts="/"
      placeholder={placeholder}
      value={value}
      onChange={(event) => {
        onChange(event.currentTarget.value);
      }}
      rightSection={
        value === "" && (
          <Kbd size="xs" visibleFrom="sm" aria-hidden>
            /
          </Kbd>
        )
      }
      rightSectionPointerEvents="none"
      w={{ base: "100%", xs: 300 }}
    />
  );
}
