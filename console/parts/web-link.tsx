import { Anchor } from "@mantine/core"
import styles from "./parts.module.css"

/** An address that somebody stored: a link where it is one of the web, else a text. */
export function WebLink({ address }: { readonly address: string | null }) {
  if (address === null) return <>–</>
  if (!isOfWeb(address)) return <span className={styles.long}>{address}</span>
  return (
    <Anchor
      className={styles.long}
      inherit
      href={address}
      target="_blank"
      rel="noopener noreferrer nofollow"
    >
      {address}
    </Anchor>
  )
}

function isOfWeb(address: string): boolean {
  return URL.canParse(address) && /^https?:$/.test(new URL(address).protocol)
}
