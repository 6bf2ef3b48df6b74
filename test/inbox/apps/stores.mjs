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
 * Returns functions that open the stores of an engine. The environment variable `STORE_URL` contains the URL of the
 * server, so that process lists do not show it.
 *
 * @param {string} store `postgres:<schema>` or `redis:<prefix>`
 */
export function openStore(store, options) {
  const [engine, name] = store.split(':')
  return engines[engine](name, options)
}
