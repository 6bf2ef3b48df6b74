const assert = require('node:assert/strict')
const { received, startNode, startExpress } = require('./receivers.cjs')

/** Loads each entry. All must load without any framework installed, except those that import a peer dependency. */
function load({ entries, peers }) {
  const loaded = {}
  for (const entry of entries.filter((entry) => entry !== 'geohook/mock')) {
    if (peers[entry]) {
      const isPlain = ({ code, message }) =>
        code === 'MODULE_NOT_FOUND' && message.startsWith(`Cannot find module '${peers[entry]}'`)
      assert.throws(() => require(entry), isPlain, `${entry} names the missing package`)
    } else {
      loaded[entry] = require(entry)
    }
  }
  for (const path of Object.keys(require.cache)) {
    assert.ok(!/node_modules.(express|zod|commander)/.test(path), `a receiver loads ${path}`)
  }
  return { ...loaded, 'geohook/mock': require('geohook/mock') }
}

async function main() {
  const entries = load(await import('./entries.mjs'))
  const { uses } = await import('./uses.mjs')
  const { exchangeWith } = await import('./exchange.mjs')
  await uses(entries)
  await exchangeWith(startNode(), received)
  await exchangeWith(startExpress(), received)
}

main()
