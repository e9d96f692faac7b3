import { Text } from "@mantine/core";
import Form from "@rjsf/mantine";
import type { RJSFSchema, TitleFieldProps } from "@rjsf/utils";
import type { ReactNode } from "react";
import { uiSchemaOf } from "./ui-schema.ts";
import { validator } from "./validator.ts";

/** The name of a group of fields. It is not a heading, which would break the order of the page's headings. */
function GroupTitle({ id, title }: TitleFieldProps) {
  return (
    <Text fw={600} size="sm" id={id}>
      {title}
    </Text>
  );
}

/** A form built from a JSON Schema (Draft 7). The children are its buttons. */
export function SchemaForm({
  schema,
  value,
  onChange,
  onSubmit,
  children,
  disabled = false,
  isNamedInWords = false,
}: {
  readonly schema: Readonly<Record<string, unknown>>;
  readonly value: Readonly<Record<string, unknown>>;
  readonly onChange: (value: Readonly<Record<string, unknown>>) => void;
  readonly onSubmit: (value: Readonly<Record<string, unknown>>) => void;
  readonly children: ReactNode;
  readonly disabled?: boolean;
  /** Whether fields without a title get one from their name; arguments of tools keep their names. */
  readonly isNamedInWords?: boolean;
}) {
  const formSchema: RJSFSchema = { ...schema, $schema: undefined };
  return (
    <Form
      schema={formSchema}
      uiSchema={uiSchemaOf(formSchema, isNamedInWords)}
      formData={value}
      validator={validator}
      disabled={disabled}
      templates={{ TitleFieldTemplate: GroupTitle }}
      noHtml5Validate
      showErrorList={false}
      focusOnFirstError
      omitExtraData
      onChange={({ formData }: { formData?: unknown }) => {
        onChange(asObject(formData));
      }}
      onSubmit={({ formData }: { formData?: unknown }) => {
        onSubmit(asObject(formData));
      }}
    >
      {children}
    </Form>
  );
}

function asObject(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? { ...value } : {};
}
