/** Volumes: files that outlive the sandbox they are seen in. As those of boxes, an image or a folder. */
import { chmod, mkdir, open, rename, rm, rmdir, stat } from "node:fs/promises"
import { join } from "node:path"
import type { BoxPlan } from "../port.ts"
import type { DiskKind } from "./disk.ts"
import { ProgramFailed, isAbsent, program } from "./program.ts"
import type { BoxPlaces } from "./run-folder.ts"
import { CannotLaunch, type Machine } from "./settings.ts"

interface Wanted {
  readonly path: string
  readonly bytes: number
  readonly uid: number | null
}

const imageIn = (path: string): string => join(path, "image")
const filesIn = (path: string): string => join(path, "files")

/** Where a sandbox's volume lies while it is launched. */
export function volumePlace({ volume }: BoxPlaces, plan: BoxPlan, kind: DiskKind): string {
  return kind === "image" ? volume : filesIn(plan.volume?.path ?? "")
}

/**
 * Makes a volume where there is none, mounts it where it is an image, and gives it to the sandbox's user,
 * which may be another each time. It stays what it was when it was made.
 *
 * @throws CannotLaunch where it cannot be mounted any more, or that user does not reach it
 */
export async function makeVolume(
  machine: Machine,
  { volume }: BoxPlaces,
  wanted: Wanted,
): Promise<DiskKind> {
  const { path, uid } = wanted
  await mkdir(path, { recursive: true, mode: 0o700 })
  if (await couldMount(machine, volume, wanted)) {
    if (uid !== null) await giveTo(uid, volume)
    return "image"
  }
  await mkdir(filesIn(path), { recursive: true, mode: 0o700 })
  if (uid === null) return "folder"
  await chmod(path, 0o711)
  await giveTo(uid, filesIn(path))
  await mustReach(uid, filesIn(path))
  return "folder"
}

/** Takes the volume of a running sandbox out of everybody's sight but the sandbox's. */
export async function hideVolume({ volume }: BoxPlaces): Promise<void> {
  await program("umount", ["--lazy", volume])
}

async function couldMount(
  { lacks }: Machine,
  volume: string,
  { bytes, path, uid }: Wanted,
): Promise<boolean> {
  const image = imageIn(path)
  if (await isThere(image)) {
    await mkdir(volume)
    await mounted(image, volume).catch((error: unknown) => {
      throw new CannotLaunch(`the volume ${path} cannot be mounted: ${String(error)}`)
    })
    return true
  }
  if (uid === null || lacks("images") || (await isThere(filesIn(path)))) return false
  await mkdir(volume)
  const unfinished = `${image}.new`
  try {
    await formatted(unfinished, bytes)
    await mounted(unfinished, volume)
  } catch (error) {
    // In a container without the right to mount, or without the program.
    if (!(error instanceof ProgramFailed)) throw error
    await rm(unfinished, { force: true })
    return false
  }
  await rmdir(join(volume, "lost+found"))
  await rename(unfinished, image)
  return true
}

/** With a journal: what was written must survive whatever ends the machine. */
async function formatted(image: string, bytes: number): Promise<void> {
  const file = await open(image, "w", 0o600)
  await file.truncate(bytes)
  await file.close()
  await program("mkfs.ext4", ["-q", "-m", "0", "-J", "size=16", image])
}

/** What is deleted in it is free on the machine's disk again. */
async function mounted(image: string, at: string): Promise<void> {
  await program("mount", ["-o", "loop,discard,nosuid,nodev,noatime", image, at])
}

/** Its root becomes the user's last: where this is broken off, it is done again. */
async function giveTo(uid: number, folder: string): Promise<void> {
  if ((await stat(folder)).uid === uid) return
  await program("chown", ["-R", "-h", `${uid}:${uid}`, "--", folder])
}

/** @throws CannotLaunch */
async function mustReach(uid: number, folder: string): Promise<void> {
  try {
    await program("test", ["-w", folder], { uid, gid: uid, cwd: "/" })
  } catch (error) {
    if (!(error instanceof ProgramFailed)) throw error
    throw new CannotLaunch(
      `the users of sandboxes do not reach ${folder}: let them pass the folders above it (chmod o+x)`,
    )
  }
}

async function isThere(path: string): Promise<boolean> {
  try {
    await stat(path)
    return true
  } catch (error) {
    if (isAbsent(error)) return false
    throw error
  }
}
