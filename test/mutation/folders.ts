/** Code to mutate (`rules`), and the tests that must notice the mutants. Both are files or whole folders. */
export interface MutatedFolder {
  /** Name of a module, or of a part of one: `module/part`. */
  readonly name: string
  readonly rules: readonly string[]
  /** Only quick tests: each mutant runs all tests that reach it. */
  readonly tests: readonly string[]
}

const filesIn = (folder: string, names: readonly string[]) => names.map((name) => `${folder}/${name}.test.ts`)

export const FOLDERS: readonly MutatedFolder[] = [
  { name: 'config/json', rules: ['plugin/config/json'], tests: ['test/plugin/config/json'] },
  {
    name: 'config/domains',
    rules: ['plugin/config/domains'],
    tests: filesIn('test/plugin/config', ['domains', 'meshcentral/reading', 'read']),
  },
  {
    name: 'config/migration',
    rules: ['plugin/config/migration'],
    tests: ['test/plugin/config/migration', ...filesIn('test/plugin/config', ['groups', 'meshcentral/reading'])],
  },
  {
    name: 'config/credentials',
    rules: ['plugin/config/credentials'],
    tests: ['test/plugin/config/credentials', 'test/plugin/config/client.test.ts'],
  },
  {
    name: 'config/rules',
    rules: ['plugin/config/rules'],
    tests: [
      'test/plugin/config/rules',
      'test/plugin/config/credentials',
      ...filesIn('test/plugin/config', ['client', 'custom', 'domains', 'groups', 'inferred-presets', 'issuer', 'read']),
    ],
  },
  {
    name: 'login',
    rules: ['plugin/login/another-account.ts', 'plugin/login/sign-in.ts', 'plugin/login/transaction'],
    tests: ['test/plugin/login', 'test/plugin/flow/another-account.test.ts'],
  },
  {
    name: 'groups',
    rules: ['plugin/login/groups'],
    tests: ['test/plugin/login', 'test/plugin/presets'],
  },
  {
    name: 'claims',
    rules: ['plugin/login/claim-path.ts', 'plugin/login/profile.ts'],
    tests: ['test/plugin/login'],
  },
  {
    name: 'presets',
    rules: ['plugin/presets'],
    tests: ['test/plugin/presets', 'test/plugin/config/custom.test.ts', 'test/plugin/config/inferred-presets.test.ts'],
  },
  {
    name: 'redeem',
    rules: ['plugin/provider/answers/redeem.ts'],
    tests: [
      'test/plugin/provider/answers/redeem.test.ts',
      ...filesIn('test/plugin/flow', [
        'attacks',
        'client-certificate',
        'dpop',
        'encrypted-answers',
        'front-channel',
        'idp-keys',
      ]),
      ...filesIn('test/plugin/flow', ['log-lines', 'required-acr', 'response-mode', 'user-info']),
    ],
  },
  {
    name: 'logout-token',
    rules: ['plugin/provider/logout/logout-token.ts'],
    tests: ['test/plugin/provider/logout/logout-token.test.ts'],
  },
  { name: 'aprs', rules: ['sidecar/aprs'], tests: ['test/sidecar/aprs'] },
  {
    name: 'avatars',
    rules: ['sidecar/api/requests/avatar.ts', 'sidecar/api/requests/png.ts'],
    tests: ['test/sidecar/api/requests/avatar.test.ts', 'test/sidecar/api/requests/png.test.ts'],
  },
  {
    name: 'filters',
    rules: ['sidecar/aprsis/filters', 'sidecar/aprsis/protocol/filter.ts'],
    tests: ['test/sidecar/aprsis/filters', 'test/sidecar/aprsis/protocol/filter.test.ts'],
  },
  {
    name: 'notification',
    rules: ['sidecar/push/gateway/notification.ts'],
    tests: ['test/sidecar/push/notification.test.ts'],
  },
  {
    name: 'duplicates',
    rules: ['sidecar/messages/duplicate-horizons.ts', 'sidecar/store/sqlite/messages/duplicates.ts'],
    tests: [
      'test/sidecar/store/sqlite/messages/history.test.ts',
      'test/sidecar/store/sqlite/messages/duplicates.test.ts',
    ],
  },
  {
    name: 'cursors',
    rules: ['sidecar/client/cursor.ts', 'sidecar/store/sqlite/messages/cursors.ts'],
    tests: ['test/sidecar/client/cursor.test.ts', 'test/sidecar/store/sqlite/messages/cursors.test.ts'],
  },
]
