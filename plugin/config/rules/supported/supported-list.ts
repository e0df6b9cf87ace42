/** The values in a `…_supported` member: one, or several separated by spaces or commas; none twice. */
export function listed(text: string): readonly string[] {
  return [...new Set(text.split(/[\s,]+/).filter((word) => word !== ''))]
}
