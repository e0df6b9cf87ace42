/**
 * The answer in a page that posts itself to the redirect address (OAuth 2.0 Form Post Response Mode); undefined: the page is none.
 *
 * @param html of an IdP, so of anybody: the patterns run through it once
 */
export function formAnswer(html: string, redirectUri: string): URLSearchParams | undefined {
  const [form] = html.match(/<form\b[^<>]*>/i) ?? []
  if (form === undefined || attribute(form, 'action') !== redirectUri) return undefined
  const answer = new URLSearchParams()
  for (const input of html.match(/<input\b[^<>]*>/gi) ?? []) {
    const name = attribute(input, 'name')
    if (name !== undefined) answer.append(name, attribute(input, 'value') ?? '')
  }
  return answer
}

function attribute(tag: string, name: string): string | undefined {
  const found = new RegExp(`\\s${name}=(?:"([^"]*)"|'([^']*)'|([^\\s"'>]+))`, 'i').exec(tag)
  const value = found?.[1] ?? found?.[2] ?? found?.[3]
  return value?.replace(/&(?:#(\d{1,6})|#x([0-9a-f]{1,5})|(amp|quot|lt|gt|apos));/gi, character)
}

const NAMED: Readonly<Record<string, string>> = { amp: '&', quot: '"', lt: '<', gt: '>', apos: "'" }

function character(whole: string, decimal?: string, hexadecimal?: string, named?: string): string {
  if (named !== undefined) return NAMED[named.toLowerCase()] ?? whole
  return String.fromCodePoint(decimal === undefined ? Number.parseInt(hexadecimal ?? '', 16) : Number(decimal))
}
