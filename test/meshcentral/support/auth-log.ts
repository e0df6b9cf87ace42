import { until } from '../../support/until.ts'
import type { MeshSetup } from './mesh-setup.ts'

/** A line that the plugin wrote. */
export interface PluginLine {
  readonly level: string
  readonly event: string
  readonly domain: string
  readonly message: string
  readonly fields: Readonly<Record<string, unknown>>
  readonly line: string
}

/** Returns the plugin's lines in order, without those of MeshCentral itself. */
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
 * Returns the lines that a task wrote to the authentication log. The log is written in the background, so an invalid
 * logout token follows the task. Once its line is there, all others are.
 */
export async function linesOf(setup: MeshSetup, task: () => Promise<unknown>): Promise<readonly string[]> {
  const countBefore = (await setup.data.authLog()).length
  await task()
  await setup.browser().step(`${setup.url}auth-oidc-backchannel-logout`, { form: [['logout_token', '']] })
  const isLast = (line: string) => line.includes('backchannel-logout-refused')
  return until('the last line of the authentication log', async () => {
    const lines = (await setup.data.authLog()).slice(countBefore)
    return lines.some(isLast) && lines.filter((line) => !isLast(line))
  })
}
