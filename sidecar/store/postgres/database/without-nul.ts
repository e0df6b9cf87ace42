/** PostgreSQL's text takes no NUL. It becomes what UTF-8 makes of half a surrogate pair: nobody means either. */
export function withoutNul(text: string): string {
  return text.replaceAll('\0', '\uFFFD')
}
