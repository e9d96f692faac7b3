/** Replaces the usual validator of the forms' library, which generates code. */
export default undefined;
