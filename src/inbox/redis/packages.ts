import { driverError } from '../driver.ts'

/** Loads ioredis. */
export const loadIoredis = (): Promise<typeof import('ioredis')> => load('ioredis', () => import('ioredis'))

/** Loads BullMQ. */
export const loadBullmq = (): Promise<typeof import('bullmq')> => load('bullmq', () => import('bullmq'))

async function load<Package>(name: string, importPackage: () => Promise<Package>): Promise<Package> {
  try {
    return await importPackage()
  } catch (cause) {
    throw driverError(`geohook/redis cannot load ${name}: npm install bullmq ioredis`, cause)
  }
}
