import { isIP } from 'node:net'
import type { DomainSettings } from '../../../config/settings.ts'
import {
  fail,
  type KnownProvider,
  type Metadata,
  type Mistake,
  otherScopes,
  publishedList,
  warn,
} from './known-provider.ts'

/**
 * SSO Server on a Synology NAS, which is recognized by its path, because host names vary.
 *
 * @see https://kb.synology.com/en-global/DSM/help/SSOServer/sso_server_general_setting
 */
export const SYNOLOGY: KnownProvider = {
  name: 'Synology SSO Server',
  isAt: ({ issuer }) => /^\/webman\/sso(?:\/|$)/.test(issuer.pathname),
  mistakes: ({ issuer, metadata, settings }) => [
    isUnsupportedHost(issuer.hostname) &&
      fail(
        'The server URL of SSO Server must be a domain name with a trusted certificate, not an IP address and not QuickConnect. Set such a name in SSO Server > General Settings, and write it in `issuer`.',
      ),
    unknownScopes(settings, metadata),
    settings.custom.claims.name === 'name' &&
      warn('SSO Server sends no claim `name`. Set `custom.claims.name` to "username".'),
  ],
}

function isUnsupportedHost(hostname: string): boolean {
  return isIP(hostname) !== 0 || hostname.startsWith('[') || /(?:^|\.)quickconnect\.(?:to|cn)$/.test(hostname)
}

function unknownScopes(settings: DomainSettings, metadata: Metadata | undefined): Mistake | false {
  const published = publishedList(metadata, 'scopes_supported')
  const unknown = published ? otherScopes(settings, published) : []
  return (
    unknown.length > 0 &&
    warn(`SSO Server does not know these scopes: ${unknown.join(' ')}. Set \`custom.scope\` to "openid email".`)
  )
}
