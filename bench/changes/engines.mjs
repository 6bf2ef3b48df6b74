import { ENGINES } from '../inbox/engines.mjs'

/**
 * Creates the stores of the requested engines, which must be available; by default, of all available engines.
 *
 * @param {readonly string[] | undefined} requested
 * @param {(line: string) => void} say
 */
export async function openEngines(requested, say) {
  const engines = []
  for (const name of (requested ?? Object.keys(ENGINES)).filter((name) => name !== 'none')) {
    try {
      const store = await ENGINES[name]()
      engines.push({ name, store })
      // Loads the driver, which may be missing although the server runs.
      const { [store.factory]: create } = await import(`../../dist/${store.entry}.js`)
      const inbox = await create(store.options)
      await inbox.stats()
      await inbox.close()
    } catch (error) {
      if (engines.at(-1)?.name === name) await engines.pop().store.remove?.()
      if (requested) {
        await removeEngines(engines)
        throw new Error(`the engine ${name} cannot be measured`, { cause: error })
      }
      say(`skipping ${name}: ${error.message}`)
    }
  }
  return engines
}

export async function removeEngines(engines) {
  for (const { store } of engines) await store.remove?.()
}
