# What `redmine-server.ts` has Debian's Redmine do before it serves: a new database with Redmine's own default data, and a small world.
# Whoever is in it is written to PEOPLE_FILE: {"<login>": {"id": …, "key": "…"}}.
load '/usr/share/redmine/Rakefile'

task world: ['db:migrate'] do
  # What the migrations believed of tables is out of date by now.
  ActiveRecord::Base.descendants.each(&:reset_column_information)
  Redmine::DefaultData::Loader.load('en')
  Setting.rest_api_enabled = '1'
  Setting.notified_events = []

  projects = %w[demo demo-sub other secret].to_h do |name|
    [name, Project.create!(name: "Project #{name}", identifier: name, is_public: name != 'secret')]
  end
  projects['demo-sub'].set_parent!(projects['demo'])
  IssueCategory.create!(project: projects['demo'], name: 'Front End')
  trackers = Tracker.all.to_a
  fields = [
    { name: 'Area', field_format: 'list', multiple: true, possible_values: %w[UI API baton] },
    { name: 'Hint', field_format: 'string' }
  ]
  fields.each { |field| IssueCustomField.create!(**field, is_for_all: true, trackers: trackers) }

  people = %w[baton ann eve carl].to_h do |login|
    person = User.new(firstname: login.capitalize, lastname: 'Test', mail: "#{login}@example.org", language: 'en')
    person.login = login
    person.password = SecureRandom.hex
    person.save!
    [login, person]
  end
  developer, manager = %w[Developer Manager].map { |name| Role.find_by!(name: name) }
  Member.create!(project: projects['demo'], principal: people['baton'], roles: [developer])
  projects.each_value { |project| Member.create!(project: project, principal: people['ann'], roles: [manager]) }
  crew = Group.create!(lastname: 'crew', users: [people['carl']])
  Member.create!(project: projects['demo'], principal: crew, roles: [developer])

  people['admin'] = User.find_by!(login: 'admin')
  people['admin'].update!(must_change_passwd: false)
  File.write(ENV.fetch('PEOPLE_FILE'), JSON.generate(people.transform_values { |person| { id: person.id, key: person.api_key } }))
end
