/**
 * The inbox and the store of duplicates that an argument asks for: `postgres:<schema>`, `redis:<prefix>`. The server's URL is in the
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
  async redis(prefix, options) {
    const { createRedisDuplicates, createRedisInbox } = await import('geohook/redis')
    const place = { url: process.env.STORE_URL, prefix }
    return {
      openInbox: () => createRedisInbox({ ...place, ...options }),
      openDuplicates: () => createRedisDuplicates(place),
    }
  },
}

/** @param {string} store  */
export function openStore(store, options) {
  const [engine, place] = store.split(':')
  return engines[engine](place, options)
}
