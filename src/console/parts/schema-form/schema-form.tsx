import { Text } from "@mantine/core";
import Form from "@rjsf/mantine";
import type { RJSFSchema, TitleFieldProps } from "@rjsf/utils";
import type { ReactNode } from "react";
import { uiSchemaOf } from "./ui-schema.ts";
import { validator } from "./validator.ts";

/** The name of a group of fields. No heading: the page's own headings would be out of order. */
function GroupTitle({ id, title }: TitleFieldProps) {
  return (
    <Text fw={600} size="sm" id={id}>
      {title}
    </Text>
  );
}

/** A form made from a JSON Schema (Draft 7). The children are its buttons. */
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
  /** Whether fields without a title are called by their name in words; arguments of tools are called as callers call them. */
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
