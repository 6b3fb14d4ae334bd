/* Included before the files of kernels_cache/ when they are compiled a second time, as a library of another
 * format would have them: under other names. */
#define KN_ENTRY_FORMAT 2
#define kn_entry_size other_entry_size
#define kn_entry_write other_entry_write
#define kn_entry_read other_entry_read
#define kn_entry_peek other_entry_peek
#define kn_tend_name other_tend_name
#define kn_tend_temporary other_tend_temporary
#define kn_tend_now other_tend_now
#define kn_tend_list other_tend_list
#define kn_tend_trim other_tend_trim
#define kn_disk_open other_disk_open
#define kn_disk_close other_disk_close
#define kn_disk_find other_disk_find
#define kn_disk_release other_disk_release
#define kn_disk_store other_disk_store
#define kn_disk_reject other_disk_reject
#define kn_disk_count other_disk_count
#define kn_disk_dir other_disk_dir
#define kn_disk_limit other_disk_limit
#define kn_disk_problem other_disk_problem
#define kn_disk_list other_disk_list
#define kn_disk_trim other_disk_trim
