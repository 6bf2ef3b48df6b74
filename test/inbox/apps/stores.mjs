const engines = {
  async postgres(schema, options) {
    const { createPostgresDuplicates, createPostgresInbox } = await import('geohook/postgres')
    const location = { connectionString: process.env.STORE_URL, schema }
    return {
      openInbox: () => createPostgresInbox({ ...location, ...options }),
      openDuplicates: () => createPostgresDuplicates(location),
    }
  },
  async redis(prefix, options) {
    const { createRedisDuplicates, createRedisInbox } = await import('geohook/redis')
    const location = { url: process.env.STORE_URL, prefix }
    return {
      openInbox: () => createRedisInbox({ ...location, ...options }),
      openDuplicates: () => createRedisDuplicates(location),
    }
  },
}

/**
 * Opens the stores of an engine. The URL of the server comes from the environment variable STORE_URL, so that it does
 * not appear in process lists.
 *
 * @param {string} store `postgres:<schema>` or `redis:<prefix>`
 */
export function openStore(store, options) {
  const [engine, name] = store.split(':')
  return engines[engine](name, options)
}
