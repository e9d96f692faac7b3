import type { Format } from "ajv";
import { fullFormats } from "ajv-formats/dist/formats.js";

/** The pattern of ajv-formats without its alternative for `user:password@`, which takes quadratic time. */
const URL_PATTERN =
  /^(?:https?|ftp):\/\/(?:\S+@)?(?:(?!(?:10|127)(?:\.\d{1,3}){3})(?!(?:169\.254|192\.168)(?:\.\d{1,3}){2})(?!172\.(?:1[6-9]|2\d|3[0-1])(?:\.\d{1,3}){2})(?:[1-9]\d?|1\d\d|2[01]\d|22[0-3])(?:\.(?:1?\d{1,2}|2[0-4]\d|25[0-5])){2}\.(?:[1-9]\d?|1\d\d|2[0-4]\d|25[0-4])|(?:[a-z0-9\u{00a1}-\u{ffff}]+-)*[a-z0-9\u{00a1}-\u{ffff}]+(?:\.(?:[a-z0-9\u{00a1}-\u{ffff}]+-)*[a-z0-9\u{00a1}-\u{ffff}]+)*\.[a-z\u{00a1}-\u{ffff}]{2,})(?::\d{2,5})?(?:\/\S*)?$/iu;

/** The supported formats, each checked in linear time. */
export const LINEAR_FORMATS: Readonly<Record<string, Format>> = {
  ...fullFormats,
  // A trailing space would make the pattern retry at every "@".
  url: (text: string) => !/\s/.test(text) && URL_PATTERN.test(text),
};
