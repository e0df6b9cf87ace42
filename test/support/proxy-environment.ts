const NAMES = ['HTTPS_PROXY', 'HTTP_PROXY', 'ALL_PROXY', 'NO_PROXY'].flatMap((name) => [name, name.toLowerCase()])

/**
 * Removes the proxy variables from the environment before each test, and restores them afterwards. Call inside a
 * `describe`.
 */
export function proxyEnvironment(): void {
  let environment: NodeJS.ProcessEnv
  beforeEach(() => {
    environment = { ...process.env }
    for (const name of NAMES) delete process.env[name]
  })
  afterEach(() => {
    for (const name of NAMES) delete process.env[name]
    Object.assign(process.env, environment)
  })
}
