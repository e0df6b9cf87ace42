import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/**
 * Runs a script as a process of its own: only that can be made to trust a private authority.
 *
 * @param ca the file with its certificate
 * @returns what it wrote to stdout
 */
export async function runTrusting(ca: string, script: string, env: NodeJS.ProcessEnv): Promise<string> {
  const args = ['--import', 'tsx', '--input-type=module', '-e', script]
  const { stdout } = await promisify(execFile)(process.execPath, args, {
    env: { ...process.env, NODE_EXTRA_CA_CERTS: ca, ...env },
  })
  return stdout
}
