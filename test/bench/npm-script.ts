import { execFileSync } from 'node:child_process'

/** Runs a script of `package.json`, after the command line was read: whoever asks for help does not wait for it. */
export function runScript(name: 'build' | 'pack:meshcentral'): void {
  execFileSync('npm', ['run', '--silent', name], { stdio: ['ignore', 'ignore', 'inherit'] })
}
