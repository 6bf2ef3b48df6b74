const engines = {
  async postgres(schema, options) {
    const { createPostgresDuplicates, createPostgresInbox } = await import('geohook/postgres')
    const location = { connectionString: process.env.STORE_URL, schema }
    return {
      openInbox: () => createPostgresInbox({ ...location, ...options }),
      openDuplicates: () => createPostgresDuplicates(location),
    }
  },
}

/**
 * Returns functions that open the stores of an engine. The environment variable `STORE_URL` contains the URL of the
 * server, so that process lists do not show it.
 *
 * @param {string} store `postgres:<schema>`
 */
export function openStore(store, options) {
  const [engine, name] = store.split(':')
  return engines[engine](name, options)
}
