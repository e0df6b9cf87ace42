import { execFileSync } from 'node:child_process'

/** Runs a script of `package.json`. Call it after reading the command line, so that `--help` does not wait for it. */
export function runScript(name: 'build' | 'pack:meshcentral'): void {
  execFileSync('npm', ['run', '--silent', name], { stdio: ['ignore', 'ignore', 'inherit'] })
}
