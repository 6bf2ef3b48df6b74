/**
 * The inbox and the store of duplicates that an argument asks for: `postgres:<schema>`. The server's URL is in the
 * environment, where the list of processes does not show it.
 */
const engines = {
  async postgres(schema, options) {
    const { createPostgresDuplicates, createPostgresInbox } = await import('geohook/postgres')
    const place = { connectionString: process.env.STORE_URL, schema }
    return {
      openInbox: () => createPostgresInbox({ ...place, ...options }),
      openDuplicates: () => createPostgresDuplicates(place),
    }
  },
}

/** @param {string} store  */
export function openStore(store, options) {
  const [engine, place] = store.split(':')
  return engines[engine](place, options)
}
