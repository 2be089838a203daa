import { Anchor, Breadcrumbs, Stack, Text } from "@mantine/core"
import { useQuery } from "@tanstack/react-query"
import type { Schema } from "../api/api-client.ts"
import { responseData, useApi } from "../api/api-client.ts"
import { useMe } from "../api/session.ts"
import { ApiCallButton } from "./api-call-button.tsx"
import { sizeText } from "./size-text.ts"
import type { TableColumn } from "./data-table.tsx"
import { DataTable } from "./data-table.tsx"
import { EmptyState } from "./empty-state.tsx"
import { useFilters } from "./filters.ts"
import { QueryView } from "./query-view.tsx"
import { Section } from "./page-layout.tsx"
import { TextView } from "./text-view.tsx"
import { Time } from "./time.tsx"

type Entry = Schema<"FileEntry">

/** Folder of a box's repository. */
const REPOSITORY = "/workspace/repo"

interface BoxFilesProps {
  readonly boxId: string
  readonly mayDelete: boolean
}

/** Browses the files of a box; the address has the open file. */
export function BoxFileBrowser({ boxId, mayDelete }: BoxFilesProps) {
  const [{ path = REPOSITORY, file }] = useFilters()
  return (
    <Stack>
      <PathBreadcrumbs path={file ?? path} />
      {file === undefined ? (
        <FolderView boxId={boxId} path={path} />
      ) : (
        <FileView boxId={boxId} path={file} mayDelete={mayDelete} />
      )}
    </Stack>
  )
}

/** The folders of a path as links. */
function PathBreadcrumbs({ path }: { readonly path: string }) {
  const [, setFilters] = useFilters()
  const names = path.split("/").filter((name) => name !== "")
  return (
    <Breadcrumbs separatorMargin={6}>
      {["/", ...names].map((name, at) => {
        const here = `/${names.slice(0, at).join("/")}`
        return at === names.length ? (
          <Text key={here} size="sm" aria-current="page">
            {name}
          </Text>
        ) : (
          <Anchor
            key={here}
            component="button"
            type="button"
            size="sm"
            underline="always"
            onClick={() => setFilters({ path: here, file: undefined })}
          >
            {name === "/" ? "Root" : name}
          </Anchor>
        )
      })}
    </Breadcrumbs>
  )
}

function FolderView({ boxId, path }: { readonly boxId: string; readonly path: string }) {
  const { companyId } = useMe()
  const api = useApi()
  const params = { path: { id: boxId }, query: { path, hidden: "1" as const } }
  const found = useQuery({
    queryKey: [companyId, "boxes", boxId, "folder", path],
    queryFn: () => responseData(api.GET("/api/v1/sandboxes/{id}/files", { params })),
  })
  const columns: readonly TableColumn<Entry>[] = [
    {
      title: "Name",
      cell: ({ name, type }) => (type === "directory" ? `${name}/` : name),
      sortBy: ({ name }) => name,
    },
    {
      title: "Size",
      isNumber: true,
      cell: ({ size, type }) => (type === "file" ? sizeText(size) : "–"),
      sortBy: ({ size }) => size,
    },
    {
      title: "Changed",
      isHiddenOnNarrow: true,
      cell: ({ modifiedAt }) => <Time at={modifiedAt} />,
      sortBy: ({ modifiedAt }) => modifiedAt,
    },
  ]
  return (
    <QueryView query={found}>
      {({ files }) => (
        <DataTable
          label="Files"
          columns={columns}
          rows={files}
          rowKey={({ name }) => name}
          place={({ type, path: target }) => ({
            to: `boxes/${boxId}`,
            search: { tab: "files", [type === "directory" ? "path" : "file"]: target },
          })}
          empty={
            <EmptyState
              title="This folder is empty"
              description="Commands in the box write files."
            />
          }
        />
      )}
    </QueryView>
  )
}

function FileView({ boxId, path, mayDelete }: BoxFilesProps & { readonly path: string }) {
  const { companyId } = useMe()
  const api = useApi()
  const [, setFilters] = useFilters()
  const params = { path: { id: boxId }, query: { path } }
  const found = useQuery({
    queryKey: [companyId, "boxes", boxId, "file", path],
    queryFn: () => responseData(api.GET("/api/v1/sandboxes/{id}/files/content", { params })),
  })
  const query = new URLSearchParams({ path }).toString()
  const folder = path.slice(0, Math.max(1, path.lastIndexOf("/")))
  return (
    <Section
      title={path.slice(path.lastIndexOf("/") + 1)}
      actions={
        mayDelete ? (
          <ApiCallButton
            label="Delete the file"
            variant="subtle"
            description={`Deletes ${path} in the box. Committed versions stay in git.`}
            successMessage="The file was deleted."
            isDangerous
            changeOf={() => ({
              method: "DELETE",
              path: `/api/v1/sandboxes/${boxId}/files/content?${query}`,
            })}
            onDone={() => setFilters({ path: folder, file: undefined })}
          />
        ) : null
      }
    >
      <QueryView query={found}>
        {({ content }) => <TextView title="Content" text={content === "" ? " " : content} />}
      </QueryView>
    </Section>
  )
}
