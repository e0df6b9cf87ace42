import { isJsonObject, type JsonObject } from '../json/json-object.ts'
import type { Finding } from '../problem.ts'
import { type AddressRules, checkAddress } from './addresses/web-address.ts'

/** Browsers show nothing else on an https page. */
const ICON_RULES: AddressRules = { plainHttp: 'loopback', query: true, fragment: true }

/** The icon of the login button: an address, or a path of the server itself. */
export function checkButton({ custom }: JsonObject): readonly Finding[] {
  const icon = isJsonObject(custom) ? custom.buttonIconUrl : undefined
  if (typeof icon !== 'string' || isOwnPath(icon)) return []
  return checkAddress(icon, ['custom', 'buttonIconUrl'], ICON_RULES).map((finding) => ({
    ...finding,
    remedy: `${finding.remedy} A path of this server will do as well.`,
  }))
}

// As browsers read it: `//host`, `/\host` and `javascript:` lead elsewhere.
function isOwnPath(text: string): boolean {
  const base = 'https://here.invalid/'
  return URL.canParse(text, base) && new URL(text, base).origin === new URL(base).origin && !URL.canParse(text)
}
