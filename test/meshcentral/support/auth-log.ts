import type { MeshSetup } from './mesh-setup.ts'
import { until } from './until.ts'

/** One of the plugin's lines. */
export interface PluginLine {
  readonly level: string
  readonly event: string
  readonly domain: string
  readonly message: string
  readonly fields: Readonly<Record<string, unknown>>
  readonly line: string
}

/** The lines that the plugin wrote, in order; those of MeshCentral itself are left out. */
export async function pluginLines(setup: MeshSetup): Promise<readonly PluginLine[]> {
  return (await setup.data.authLog()).flatMap((line) => {
    const [, level, event, domain = '', message = '', fields] =
      / meshcentral OIDC\[\d+\]: (INFO|WARN|ERROR) ([a-z-]+)(?: domain=(\S+?))?: (.*?)(?: (\{.*\}))?$/.exec(line) ?? []
    if (level === undefined || event === undefined) return []
    const parsed = fields === undefined ? {} : (JSON.parse(fields) as Record<string, unknown>)
    return [{ level, event, domain, message, fields: parsed, line }]
  })
}

/**
 * What a task left in the authentication log. That is written in the background: a logout token that is none comes
 * last, and once its line is there, all others are.
 */
export async function linesOf(setup: MeshSetup, task: () => Promise<unknown>): Promise<readonly string[]> {
  const before = (await setup.data.authLog()).length
  await task()
  await setup.browser().step(`${setup.url}auth-oidc-backchannel-logout`, { form: [['logout_token', '']] })
  const isLast = (line: string) => line.includes('backchannel-logout-refused')
  return until('the last line of the authentication log', async () => {
    const lines = (await setup.data.authLog()).slice(before)
    return lines.some(isLast) && lines.filter((line) => !isLast(line))
  })
}
