import { toBinary, type DescFile, type DescService } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { Code, type ServiceImpl } from "@connectrpc/connect";
import { file_google_rpc_error_details } from "../../../gen/proto/google/rpc/error_details_pb.ts";
import type { ServerReflection } from "../../../gen/proto/grpc/reflection/v1/reflection_pb.ts";
import type { ServerReflection as ServerReflectionAlpha } from "../../../gen/proto/grpc/reflection/v1alpha/reflection_pb.ts";

/** The two revisions of the protocol differ only in their package name. */
export type ReflectionService = ServiceImpl<typeof ServerReflection> & ServiceImpl<typeof ServerReflectionAlpha>;

/**
 * gRPC server reflection over the generated descriptors, so that `buf curl` and `grpcurl` need no schema. Includes the
 * types of error details, which are not fields of any message.
 */
export function createReflectionService(services: readonly DescService[]): ReflectionService {
  const files = withDependencies([...services.map((service) => service.file), file_google_rpc_error_details]);
  const bySymbol = new Map(files.flatMap((file) => symbolsOf(file).map((symbol) => [symbol, file] as const)));
  const byName = new Map(files.map((file) => [file.proto.name, file]));
  const extensions = files.flatMap((file) => file.extensions);
  const serviceNames = services.map(({ typeName }) => ({ name: typeName }));

  const found = (file: DescFile | undefined, what: string) =>
    file === undefined
      ? missing(what)
      : ({
          case: "fileDescriptorResponse",
          value: {
            fileDescriptorProto: withDependencies([file]).map((each) =>
              toBinary(FileDescriptorProtoSchema, each.proto),
            ),
          },
        } as const);

  return {
    serverReflectionInfo: async function* (requests) {
      for await (const request of requests) {
        const question = request.messageRequest;
        const answer = (() => {
          switch (question.case) {
            case "fileByFilename":
              return found(byName.get(question.value), question.value);
            case "fileContainingSymbol":
              return found(bySymbol.get(question.value), question.value);
            case "fileContainingExtension": {
              const { containingType, extensionNumber } = question.value;
              const extension = extensions.find(
                ({ extendee, number }) => extendee.typeName === containingType && number === extensionNumber,
              );
              return found(extension?.file, `${containingType} ${String(extensionNumber)}`);
            }
            case "allExtensionNumbersOfType": {
              const numbers = extensions.filter(({ extendee }) => extendee.typeName === question.value);
              if (numbers.length === 0 && !bySymbol.has(question.value)) return missing(question.value);
              return {
                case: "allExtensionNumbersResponse",
                value: { baseTypeName: question.value, extensionNumber: numbers.map(({ number }) => number) },
              } as const;
            }
            case "listServices":
              return { case: "listServicesResponse", value: { service: serviceNames } } as const;
            case undefined:
              return missing("the request is empty");
          }
        })();
        yield { validHost: request.host, messageResponse: answer };
      }
    },
  };
}

function missing(what: string) {
  return {
    case: "errorResponse",
    value: { errorCode: Code.NotFound, errorMessage: `not found: ${what.slice(0, 256)}` },
  } as const;
}

/** The files and everything they import, each once, dependencies first. */
function withDependencies(files: readonly DescFile[]): readonly DescFile[] {
  const ordered = new Set<DescFile>();
  const add = (file: DescFile): void => {
    if (ordered.has(file)) return;
    file.dependencies.forEach(add);
    ordered.add(file);
  };
  files.forEach(add);
  return [...ordered];
}

function symbolsOf(file: DescFile): readonly string[] {
  const messages = file.messages.flatMap(function nested(message): typeof file.messages {
    return [message, ...message.nestedMessages.flatMap(nested)];
  });
  return [
    ...file.services.flatMap((service) => [
      service.typeName,
      ...service.methods.map((method) => `${service.typeName}.${method.name}`),
    ]),
    ...messages.flatMap((message) => [
      message.typeName,
      ...message.fields.map((field) => `${message.typeName}.${field.name}`),
      ...message.nestedEnums.map((each) => each.typeName),
    ]),
    ...file.enums.map((each) => each.typeName),
    ...file.extensions.map((each) => each.typeName),
  ];
}
