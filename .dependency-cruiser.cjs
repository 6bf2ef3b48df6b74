/** The layers in dependency order: a layer imports only from the layers before it. */
const LAYERS = [
  'errors',
  'shared',
  'runtime',
  'signature',
  'payload',
  'receiver',
  'explain',
  'inbox',
  'changes',
  'otel',
  'adapters',
  'testing',
  'inspector',
  'check',
  'mock',
  'cli',
]

const ENTRIES = Object.values(require('./scripts/entries.json')).map((path) => `^${path}$`)

const pathOf = (layer) => (layer === 'errors' ? '^src/(errors|options)\\.ts$' : `^src/${layer}/`)

const upward = LAYERS.map((layer, index) => ({
  name: `${layer}-imports-only-layers-before-it`,
  severity: 'error',
  from: { path: pathOf(layer) },
  to: { path: '^src/', pathNot: LAYERS.slice(0, index + 1).map(pathOf) },
}))
// The command line may also import src/index.ts, the main entry of the package.
upward.at(-1).to.pathNot.push('^src/index\\.ts$')

module.exports = {
  forbidden: [
    ...upward,
    {
      // Every folder of the command line is a family of commands, except those that all families share.
      name: 'cli-family-imports-itself-and-shared-folders',
      severity: 'error',
      from: { path: '^src/cli/([^/]+)/' },
      to: { path: '^src/cli/[^/]+/', pathNot: '^src/cli/($1|terminal|io|options)/' },
    },
    {
      // The build makes a second copy of every other module that the command line imports, so these have no state.
      name: 'cli-imports-only-entries-and-stateless-layers',
      severity: 'error',
      from: { path: '^src/cli/' },
      to: {
        path: '^src/',
        pathNot: ['^src/(cli|shared|payload)/', '^src/receiver/port\\.ts$', pathOf('errors'), ...ENTRIES],
      },
    },
    {
      name: 'mock-state-imports-no-http-or-delivery',
      severity: 'error',
      from: { path: '^src/mock/state/' },
      to: { path: '^src/mock/(admin|control|delivery|http|openapi)/' },
    },
    {
      name: 'mock-delivery-imports-no-operations',
      severity: 'error',
      from: { path: '^src/mock/delivery/' },
      to: { path: '^src/mock/(admin|control|openapi)/' },
    },
    {
      name: 'mock-faults-import-only-schemas',
      severity: 'error',
      from: { path: '^src/mock/faults/' },
      to: { path: '^src/mock/', pathNot: '^src/mock/(faults/|schemas\\.ts$)' },
    },
    {
      name: 'mock-admin-imports-no-delivery',
      severity: 'error',
      from: { path: '^src/mock/admin/' },
      to: { path: '^src/mock/(control|delivery|openapi)/' },
    },
    {
      name: 'mock-features-imports-no-delivery-or-pages',
      severity: 'error',
      from: { path: '^src/mock/features/' },
      to: {
        path: '^src/mock/(service|app|control|delivery|openapi|inspector|admin)',
        pathNot: '^src/mock/admin/(operation|tokens)\\.ts$',
      },
    },
    {
      // Core modules use engines only through src/inbox/engine-port.ts; only the entry `geohook/inbox` imports engines.
      name: 'inbox-core-imports-no-engine',
      severity: 'error',
      from: { path: '^src/inbox/[^/]+\\.ts$', pathNot: '^src/inbox/index\\.ts$' },
      to: { path: '^src/inbox/[^/]+/' },
    },
    {
      name: 'engines-do-not-import-each-other',
      severity: 'error',
      from: { path: '^src/inbox/([^/]+)/' },
      to: { path: '^src/inbox/[^/]+/', pathNot: '^src/inbox/$1/' },
    },
    { name: 'no-circle', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'no-node-above-adapters',
      severity: 'error',
      from: {
        path: '^src/(errors|options|index|shared|runtime|signature|payload|explain|receiver|inbox)',
        pathNot: '\\.node\\.ts$',
      },
      to: { dependencyTypes: ['core'] },
    },
    {
      name: 'no-package-above-adapters',
      severity: 'error',
      from: {
        path: '^src/(errors|options|index|shared|runtime|signature|payload|explain|receiver)',
      },
      to: { dependencyTypes: ['npm', 'npm-dev', 'npm-no-pkg', 'npm-unknown'] },
    },
    {
      name: 'no-express-in-receivers',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(mock|cli)/' },
      to: { path: 'node_modules/express' },
    },
    { name: 'nothing-unresolved', severity: 'error', from: {}, to: { couldNotResolve: true } },
    {
      name: 'no-orphans',
      severity: 'error',
      from: {
        orphan: true,
        pathNot: '^src/((.+\\.(node|web)|index)\\.ts|inspector/assets/inspector\\.js)$',
      },
      to: {},
    },
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    // Required for packages that have only "exports" in their package.json.
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default'],
    },
    doNotFollow: { path: 'node_modules' },
  },
}
