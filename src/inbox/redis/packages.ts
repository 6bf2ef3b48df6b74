/** ioredis, loaded when it is first needed. */
export const loadIoredis = (): Promise<typeof import('ioredis')> => load('ioredis', () => import('ioredis'))

/** BullMQ, loaded when it is first needed. */
export const loadBullmq = (): Promise<typeof import('bullmq')> => load('bullmq', () => import('bullmq'))

async function load<Package>(name: string, from: () => Promise<Package>): Promise<Package> {
  try {
    return await from()
  } catch (cause) {
    throw new Error(`geohook/redis cannot load ${name}: npm install bullmq ioredis`, { cause })
  }
}
