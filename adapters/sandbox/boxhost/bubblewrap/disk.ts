/** The files of a box: on a file system of its own, or in a folder that its keeper looks at. */
import { chmod, chown, mkdir, open, rm, statfs } from "node:fs/promises"
import { join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { ProgramFailed, runProgram } from "./programs.ts"
import type { BoxPaths } from "./run-folder.ts"
import type { BubblewrapContext } from "./options.ts"

/** How a box's files are held to their size. */
export type DiskKind = "image" | "folder"

/**
 * Makes the disk of a box. An image is a file system in a file, which only root can mount; it is as
 * large as the box's files may be, and takes the room of what is written.
 */
export async function makeDisk(
  machine: BubblewrapContext,
  { disk, diskImage }: BoxPaths,
  { bytes, uid }: { readonly bytes: number; readonly uid: number | null },
): Promise<DiskKind> {
  await mkdir(disk)
  const kind = (await tryMount(machine, { disk, image: diskImage, bytes, uid }))
    ? "image"
    : "folder"
  for (const name of ["tmp", "home", "workspace", "workspace/repo"]) {
    const path = join(disk, name)
    await mkdir(path)
    await chmod(path, name === "tmp" ? 0o1777 : 0o755)
    if (uid !== null) await chown(path, uid, uid)
  }
  if (uid !== null) await chown(disk, uid, uid)
  return kind
}

async function tryMount(
  machine: BubblewrapContext,
  { bytes, disk, image, uid }: { bytes: number; disk: string; image: string; uid: number | null },
): Promise<boolean> {
  if (uid === null || machine.isDisabled("images")) return false
  try {
    const file = await open(image, "wx", 0o600)
    await file.truncate(bytes)
    await file.close()
    const extended = `lazy_itable_init=1,root_owner=${uid}:${uid}`
    await runProgram("mkfs.ext4", ["-q", "-m", "0", "-E", extended, "-O", "^has_journal", image])
    await runProgram("mount", ["-o", "loop,nosuid,nodev,noatime", image, disk])
    return true
  } catch (error) {
    // In a container without the right to mount, or without the program.
    if (!(error instanceof ProgramFailed)) throw error
    await rm(image, { force: true })
    return false
  }
}

/**
 * Takes the disk of a running box out of everybody's sight but the box's: it is then gone with the box,
 * whatever ends that.
 */
export async function detachDisk({ disk, diskImage }: BoxPaths): Promise<void> {
  await runProgram("umount", ["--lazy", disk])
  await rm(diskImage, { force: true })
}

/** Takes what is left of the disk of a box that has ended away. */
export async function removeDisk({ disk, diskImage, folder, volume }: BoxPaths): Promise<void> {
  await unmount(volume)
  await unmount(disk)
  await rm(diskImage, { force: true })
  await removeFolder(folder)
}

/** Takes a file system out of sight; where there is none: nothing. */
async function unmount(disk: string): Promise<void> {
  try {
    await runProgram("umount", ["--quiet", "--lazy", disk])
  } catch (error) {
    // Not mounted, or never made: as it should be.
    if (!(error instanceof ProgramFailed)) throw error
  }
}

/**
 * Takes a folder away. Others may lie in it deeper than a path is long, and may forbid their owner
 * to look.
 */
export async function removeFolder(folder: string): Promise<void> {
  for (let left = 5; ; left -= 1) {
    try {
      return await removeTree(folder)
    } catch (error) {
      // What was about to end may still have written a file.
      if (!(error instanceof ProgramFailed) || left === 0) throw error
      await pause(20)
    }
  }
}

async function removeTree(folder: string): Promise<void> {
  try {
    await runProgram("rm", ["-rf", "--one-file-system", "--", folder])
  } catch (error) {
    if (!(error instanceof ProgramFailed)) throw error
    await runProgram("chmod", ["-R", "u+rwx", "--", folder])
    await runProgram("rm", ["-rf", "--one-file-system", "--", folder])
  }
}

/** What is free on the disk of a folder, bytes. */
export async function freeBytesOn(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder)
  return bavail * bsize
}
