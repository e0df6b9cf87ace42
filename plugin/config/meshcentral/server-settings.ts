import { soleMember } from '../domains/find-domains.ts'
import { type JsonObject, membersOf } from '../json/json-object.ts'
import { jsonPath } from '../json/json-path.ts'
import type { Warning } from '../problem.ts'

/** Maps each port setting to what MeshCentral does if the port is written as a string. */
const PORTS: Readonly<Record<string, string>> = {
  port: 'is written as a string, so MeshCentral ignores it and listens on 443',
  aliasPort: 'is written as a string, so MeshCentral ignores it and builds its addresses with settings.port',
  mpsPort: 'is written as a string, so MeshCentral ignores it and listens on 4433',
  mpsAliasPort: 'is written as a string, so MeshCentral ignores it and announces settings.mpsPort',
  redirPort: 'is written as a string, so MeshCentral ignores it and does not redirect plain HTTP',
  redirAliasPort: 'is written as a string, so MeshCentral ignores it and announces settings.redirPort',
}

/**
 * Reports server settings that MeshCentral interprets in an unexpected way, and missing settings that single sign-on
 * needs.
 */
export function checkServerSettings(config: JsonObject): readonly Warning[] {
  const settings = membersOf(soleMember(config, 'settings', []).value)
  const isGiven = (name: string) => {
    const { value } = soleMember(settings, name, [])
    return value !== undefined && value !== null && value !== false && value !== ''
  }
  const ports = Object.entries(PORTS).flatMap(([name, effect]): readonly Warning[] => {
    if (typeof soleMember(settings, name, []).value !== 'string') return []
    const path = jsonPath(['settings', name])
    return [{ code: 'text_ignored', path, reason: effect, remedy: 'Write the number without quotation marks.' }]
  })
  return [
    ...ports,
    ...(isGiven('authLog') || isGiven('syslogAuth') ? [] : [NOT_RECORDED]),
    ...(isGiven('sessionKey') ? [] : [NO_SESSION_KEY]),
  ]
}

const NOT_RECORDED: Warning = {
  code: 'not_recorded',
  path: 'settings.authLog',
  reason: 'is missing, so MeshCentral records neither logins nor refusals and their reasons',
  remedy: 'Write the complete path of a file, such as "/opt/meshcentral/meshcentral-data/auth.log".',
}

const NO_SESSION_KEY: Warning = {
  code: 'session_key_missing',
  path: 'settings.sessionKey',
  reason: 'is missing, so MeshCentral creates a new key at each start, and a restart signs every user out',
  remedy: 'Write a long random string and keep it secret.',
}
