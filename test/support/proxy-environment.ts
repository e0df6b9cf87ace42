const NAMES = ['HTTPS_PROXY', 'HTTP_PROXY', 'ALL_PROXY', 'NO_PROXY'].flatMap((name) => [name, name.toLowerCase()])

/** Lets each test begin without a proxy in its environment, and puts back what was there. Call inside a `describe`. */
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
