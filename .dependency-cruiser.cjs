/** The layers in dependency order: a layer imports only itself and the layers before it. */
const LAYERS = [
  '(errors|options)\\.ts$',
  'shared/',
  'runtime/',
  'signature/',
  'payload/',
  'receiver/',
  'explain/',
  'inbox/',
  'changes/',
  'admin/',
  'otel/',
  'adapters/',
  'testing/',
  'inspector/',
  'check/',
  'mock/',
  'index\\.ts$',
  'cli/',
].map((layer) => `^src/${layer}`)

const ENTRIES = Object.values(require('./scripts/entries.json')).map((path) => `^${path}$`)

module.exports = {
  // Every import must match one of these. A new folder in src needs a place in the list.
  allowedSeverity: 'error',
  allowed: [
    { from: {}, to: { pathNot: '^src/' } },
    ...LAYERS.map((layer, index) => ({ from: { path: layer }, to: { path: LAYERS.slice(0, index + 1) } })),
  ],
  forbidden: [
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
      to: { path: '^src/', pathNot: ['^src/(cli|shared|payload)/', '/port\\.ts$', LAYERS[0], ...ENTRIES] },
    },
    {
      name: 'mock-data-imports-no-http-or-delivery',
      severity: 'error',
      from: { path: '^src/mock/(state|faults)/' },
      to: { path: '^src/mock/(admin|control|delivery|http|inspector|openapi)/' },
    },
    {
      name: 'mock-operations-import-no-delivery-or-pages',
      severity: 'error',
      from: { path: '^src/mock/(admin|features)/' },
      to: { path: '^src/mock/(control|delivery|inspector|openapi)/' },
    },
    {
      name: 'mock-delivery-imports-no-operations',
      severity: 'error',
      from: { path: '^src/mock/delivery/' },
      to: { path: '^src/mock/(admin|control|features|inspector|openapi)/' },
    },
    {
      // An engine imports the modules that all share, and those import no engine. Only the entry imports several.
      name: 'inbox-engines-are-apart',
      severity: 'error',
      from: { path: '^src/inbox/([^/]+)', pathNot: '^src/inbox/index\\.ts$' },
      to: { path: '^src/inbox/[^/]+/', pathNot: '^src/inbox/$1/' },
    },
    {
      name: 'no-node-above-adapters',
      severity: 'error',
      from: { path: [...LAYERS.slice(0, 11), '^src/index\\.ts$'], pathNot: '\\.node\\.ts$' },
      to: { dependencyTypes: ['core'] },
    },
    {
      // The engines of inboxes import the package of their database.
      name: 'no-package-above-inbox',
      severity: 'error',
      from: { path: [...LAYERS.slice(0, 7), '^src/index\\.ts$'] },
      to: { dependencyTypes: ['npm', 'npm-dev', 'npm-no-pkg', 'npm-unknown'] },
    },
    { name: 'no-circle', severity: 'error', from: {}, to: { circular: true } },
    { name: 'nothing-unresolved', severity: 'error', from: {}, to: { couldNotResolve: true } },
    { name: 'no-orphans', severity: 'error', from: { orphan: true, pathNot: '/assets/' }, to: {} },
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
