/** Stands where the forms' library would load its usual validator for its own tests: that one generates code. */
export default undefined;
