-- dbt test: classes of fewer than five rows, of which there may be none
select age, ward, count(*) as rows_of_class
from {{ ref('release') }}
group by all
having count(*) < 5
