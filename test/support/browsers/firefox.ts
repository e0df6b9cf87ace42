import { once } from 'node:events'
import { WebSocket } from 'ws'
import { createFolder } from '../file-folder.ts'
import { startProgram } from '../started-program.ts'
import { ANSWER_LIMIT_MS, type BrowserDriver } from './driver.ts'

export const FIREFOX = process.env.FIREFOX_PATH ?? '/usr/bin/firefox-esr'
const LISTENING = /WebDriver BiDi listening on (ws:\S+)\n/
/** Preferences that let the browser contact only the servers of the tests. */
const PREFERENCES = {
  'app.normandy.enabled': false,
  'app.update.auto': false,
  'datareporting.policy.dataSubmissionEnabled': false,
  'extensions.getAddons.cache.enabled': false,
  'network.captive-portal-service.enabled': false,
  'network.connectivity-service.enabled': false,
}

/** Drives Firefox through its built-in WebDriver BiDi. Source: https://w3c.github.io/webdriver-bidi/ */
export async function startFirefox(): Promise<BrowserDriver> {
  const { path, write, remove } = await createFolder('firefox')
  const lines = Object.entries(PREFERENCES).map((entry) => `user_pref(${entry.map((part) => JSON.stringify(part))})`)
  await write('user.js', `${lines.join(';\n')};\n`)
  const args = ['--headless', '--no-remote', '--profile', path, '--remote-debugging-port', '0', 'about:blank']
  const { output, stop } = await startProgram(FIREFOX, args, { ready: LISTENING })
  const close = () => stop().then(remove)
  try {
    const [, address] = LISTENING.exec(output()) ?? []
    const ask = await connect(`${address}/session`)
    await ask('session.new', { capabilities: { alwaysMatch: { acceptInsecureCerts: true } } })
    return {
      async person() {
        const { userContext } = await ask('browser.createUserContext')
        return {
          async newTab() {
            const { context } = await ask('browsingContext.create', { type: 'tab', userContext })
            return {
              async goTo(url) {
                await ask('browsingContext.navigate', { context, url, wait: 'none' })
              },
              async read(expression) {
                const parameters = {
                  expression: `JSON.stringify(${expression})`,
                  awaitPromise: true,
                  target: { context },
                }
                const { result, exceptionDetails } = await ask('script.evaluate', parameters)
                if (exceptionDetails) throw new Error(`Firefox: ${JSON.stringify(exceptionDetails)}`)
                const { value } = result as { value?: string }
                return value === undefined ? undefined : (JSON.parse(value) as unknown)
              },
            }
          },
          async close() {
            await ask('browser.removeUserContext', { userContext })
          },
        }
      },
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

type Members = Readonly<Record<string, unknown>>

async function connect(address: string): Promise<(method: string, params?: Members) => Promise<Members>> {
  const socket = new WebSocket(address)
  const waiting = new Map<number, (answer: Members) => void>()
  socket.on('message', (data) => {
    const answer = JSON.parse(String(data)) as Members
    waiting.get(Number(answer.id))?.(answer)
  })
  socket.on('error', () => socket.terminate())
  await once(socket, 'open')
  let count = 0
  return (method, params = {}) =>
    new Promise((resolve, reject) => {
      const id = ++count
      const late = setTimeout(() => reject(new Error(`Firefox gave no answer to ${method}`)), ANSWER_LIMIT_MS)
      waiting.set(id, ({ type, result, message }) => {
        clearTimeout(late)
        waiting.delete(id)
        if (type === 'success') resolve(result as Members)
        else reject(new Error(`Firefox: ${method}: ${String(message)}`))
      })
      socket.send(JSON.stringify({ id, method, params }))
    })
}
